"""The system prompt changed: a clock, an identifier, the state of the work tree, a hoisted message, another prompt."""

from hitledger.causes.case import Case, Confidence, Diagnosis
from hitledger.causes.spans import changed_span, is_identifier, is_state, is_time, is_work_tree
from hitledger.likeness import similarity
from hitledger.types import Prompt, Tier

SWAPPED_BELOW = 0.5


def diagnose(case: Case) -> Diagnosis:
    """Judge the first changed system block by what its changed span looks like."""
    before, after = case.difference.before, case.difference.after
    if before is None or after is None or before.text is None or after.text is None:
        return Diagnosis("system.volatile_text", Confidence.POSSIBLE)
    if before.tier is not after.tier:
        return Diagnosis("system.swapped", Confidence.LIKELY, "", "a system block was added or removed")
    old, new = before.text, after.text
    if before.role != after.role and old == new:
        return Diagnosis("system.role_changed", Confidence.CERTAIN)
    if is_time(old, new):
        return Diagnosis("system.volatile_time", Confidence.CERTAIN)
    if is_identifier(old, new):
        return Diagnosis("system.volatile_id", Confidence.LIKELY)
    if is_work_tree(old, new):
        return Diagnosis("system.env_state", Confidence.LIKELY)
    if _grew_at_the_end(old, new):
        return Diagnosis("system.hoisted_message", Confidence.LIKELY, "", "new text was appended to the system message")
    if similarity(_system_text(case.prompt_before), _system_text(case.prompt)) < SWAPPED_BELOW:
        return Diagnosis("system.swapped", Confidence.LIKELY)
    if is_state(old, new):
        return Diagnosis("system.env_state", Confidence.LIKELY)
    return Diagnosis("system.volatile_text", Confidence.LIKELY)


def _grew_at_the_end(old: str, new: str) -> bool:
    """Nothing was replaced: the old text stands whole at the head of the new one, which goes on with more lines."""
    start, removed, added = changed_span(old, new)
    return not removed.strip() and len(added.split()) >= 3 and start >= len(old.rstrip()) and bool(old.strip())


def _system_text(prompt: Prompt) -> str:
    return "\n".join(s.text or "" for s in prompt.segments() if s.tier is Tier.SYSTEM)
