"""The history was changed: compacted, pruned, trimmed, moved, written anew."""

import orjson

from hitledger.causes.case import Case, Confidence, Diagnosis
from hitledger.chains import loose_digest, message_bag, without_ids
from hitledger.layouts.blocks import json_value
from hitledger.types import Evidence, Kind, Prompt, Segment, Tier

COMPACTED_BELOW = 0.5  # share of the earlier messages still there


def diagnose(case: Case) -> Diagnosis:
    """What happened to the first message block that differs."""
    whole = _as_a_whole(case)
    if whole is not None:
        return whole
    before, after = case.difference.before, case.difference.after
    if before is None:
        return Diagnosis("messages.edited_in_place", Confidence.POSSIBLE)
    if after is None or _moved(before, case.prompt):
        return _gone(case, before, after)
    return _changed(before, after)


def _as_a_whole(case: Case) -> Diagnosis | None:
    if "compaction" in case.call.events or case.call.purpose == "compaction":
        return Diagnosis("messages.compacted", Confidence.CERTAIN, _first_message_path(case))
    old, new = messages(case.prompt_before), messages(case.prompt)
    if _head_trimmed(old, new):
        return Diagnosis("messages.head_trimmed", Confidence.CERTAIN)
    if "rewind" in case.call.events:
        return None
    shared = (message_bag(case.before) & message_bag(case.call)).total()
    if old and shared < COMPACTED_BELOW * len(old) and (len(new) < len(old) or case.side):
        confidence = Confidence.CERTAIN if not shared else Confidence.LIKELY
        return Diagnosis("messages.compacted", confidence, _first_message_path(case))
    return None


def messages(prompt: Prompt) -> list[Segment]:
    """The message segments of a prompt."""
    return [segment for segment in prompt.segments() if segment.tier is Tier.MESSAGES]


def _first_message_path(case: Case) -> str:
    """A side request that dropped tools or system parts there already; else at its first message that differs."""
    return "" if case.difference.after is None or case.difference.after.tier is Tier.MESSAGES else case.difference.path


def _head_trimmed(old: list[Segment], new: list[Segment]) -> bool:
    """Whether the new messages begin with a later part of the old ones."""
    if len(old) < 4 or len(new) < 2 or old[0].digest == new[0].digest:
        return False
    kept = {segment.digest for segment in new}
    starts = [index for index, segment in enumerate(old) if index and segment.digest == new[0].digest]
    return any(
        all(a.digest == b.digest for a, b in zip(old[start:], new, strict=False))
        and len(old) - start >= 2
        and not any(segment.digest in kept for segment in old[:start])
        for start in starts
    )


def _moved(before: Segment, prompt: Prompt) -> bool:
    return any(segment.digest == before.digest for segment in messages(prompt))


def _gone(case: Case, before: Segment, after: Segment | None) -> Diagnosis:
    if before.kind is Kind.THINKING:
        return Diagnosis("messages.reasoning_dropped", Confidence.CERTAIN, before.path)
    if after is not None:
        return Diagnosis("messages.block_moved", Confidence.LIKELY, "", "the block stands elsewhere in the new request")
    return Diagnosis("messages.edited_in_place", Confidence.LIKELY, before.path, "the block is gone")


def _changed(before: Segment, after: Segment) -> Diagnosis:
    if Kind.IMAGE in (before.kind, after.kind):
        path = after.path.removesuffix(".text") if before.kind is not after.kind else ""
        return Diagnosis("messages.image_changed", Confidence.CERTAIN, path)
    if before.kind is Kind.THINKING and after.kind is not Kind.THINKING:
        return Diagnosis("messages.reasoning_dropped", Confidence.CERTAIN)
    if before.text is None or after.text is None:
        return Diagnosis("messages.edited_in_place", Confidence.POSSIBLE, "", "only digests are at hand")
    if before.role != after.role and before.text == after.text:
        return Diagnosis("system.role_changed", Confidence.CERTAIN)
    same = _same_but_for_form(before, after)
    if same is not None:
        return same
    if before.kind is after.kind is Kind.TOOL_RESULT and before.name == after.name and after.chars < before.chars:
        return Diagnosis("messages.tool_result_pruned", Confidence.CERTAIN)
    return Diagnosis("messages.edited_in_place", Confidence.LIKELY)


def _same_but_for_form(before: Segment, after: Segment) -> Diagnosis | None:
    """Blocks that say the same: new ids, another key order, other white space."""
    if loose_digest(before) != loose_digest(after):
        return None
    old, new = json_value(before.text), json_value(after.text)
    if isinstance(old, dict) and isinstance(new, dict):
        if _canonical(_opened(old)) == _canonical(_opened(new)):
            note = "the JSON values are equal, the text is not; whether a provider notices depends on the provider"
            return Diagnosis("messages.reserialized", Confidence.LIKELY, "", note)
        return Diagnosis("messages.random_id", Confidence.CERTAIN)
    return Diagnosis("messages.whitespace", Confidence.LIKELY)


def _opened(value: object) -> object:
    """JSON strings inside (tool arguments) opened, ids kept."""
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_opened(item) for item in value]
    return without_ids(value) if isinstance(value, str) and value[:1] in "{[" else value


def _canonical(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def reshaped(case: Case) -> Diagnosis | None:
    """Equal texts in another JSON shape: a string before, a list of blocks now, or the other way round."""
    if {case.before.evidence, case.call.evidence} != {Evidence.EXACT}:
        return None
    pairs = zip(case.prompt_before.segments()[: case.boundary], case.prompt.segments(), strict=False)
    place = next((new.path for old, new in pairs if old.digest == new.digest and old.path != new.path), None)
    if place is None:
        return None
    note = "the text is equal, its JSON shape is not; whether that breaks depends on the model"
    return Diagnosis("messages.shape_changed", Confidence.POSSIBLE, place, note)
