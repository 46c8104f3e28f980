"""Whether a call goes on with an earlier conversation where the two share no message as it stands."""

import re
from collections.abc import Iterable

from hitledger.likeness import similarity
from hitledger.types import Call, Evidence, Kind, Segment, Tier

LONG_TEXT = 40  # characters; a shorter text stands in many conversations by chance
SUMMARY = r"(?i)\bsummar(?:y|ies|i[sz]ed?)\b|\bcontinued from\b|\bcompact(?:ed|ion)\b"  # compiled when first asked
SUMMARY_WITHIN = 400  # characters of the first message, where a summary says that it is one
SAME_TEXT = 0.5  # share of lines or words from which on two texts are one text, edited


def messages_of(call: Call) -> tuple[Segment, ...]:
    """The segments of the messages tier."""
    return tuple(segment for segment in call.prompt.segments() if segment.tier is Tier.MESSAGES)


def head_of(call: Call) -> frozenset[bytes]:
    """Digests of tools and system."""
    return frozenset(segment.digest for segment in call.prompt.segments() if segment.tier is not Tier.MESSAGES)


def same_head(old: frozenset[bytes], new: frozenset[bytes]) -> bool:
    """Whether tools and system, as far as there are any, are mostly the same."""
    return bool(old) and 2 * len(old & new) >= max(len(old), len(new))


def repeats_history(call: Call, earlier: Iterable[Call]) -> bool:
    """Whether a text of some length from an earlier conversation stands inside one of this call's texts."""
    whole = _texts(call)
    for other in earlier:
        texts = [s.text for s in messages_of(other) if s.text and s.kind is Kind.TEXT and len(s.text) >= LONG_TEXT]
        if texts and sum(text.strip() in whole for text in texts) * 2 >= len(texts):
            return True
    return False


def goes_on(earlier: Call, later: Call) -> bool:
    """Whether a later call under the same tools and system goes on with an earlier conversation.

    It does where the log says so, where it opens with a summary, where it holds what the earlier call generated, or
    where it is longer and its first message is the earlier one's, edited. Else it starts another conversation.
    """
    if later.purpose == "compaction" or {"compaction", "rewind", "resume"} & set(later.events):
        return True
    old, new = messages_of(earlier), messages_of(later)
    if not old or not new:
        return True
    first = new[0].text or ""
    if re.search(SUMMARY, first[:SUMMARY_WITHIN]):
        return True
    generated = (earlier.generated_text or "").strip()
    if len(generated) >= LONG_TEXT and generated in _texts(later):
        return True
    return len(new) > len(old) and similarity(old[0].text or "", first) >= SAME_TEXT


def branches(earlier: Call, later: Call) -> bool:
    """Whether both ask something else behind the same history, so that the end of neither was ever in the other."""
    if earlier.evidence is not Evidence.EXACT or later.evidence is not Evidence.EXACT:
        return False
    if head_of(earlier) != head_of(later):
        return False
    old, new = messages_of(earlier), messages_of(later)
    shared = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a.digest != b.digest), -1)
    if shared < 0:  # one goes on with the other
        return False
    old, new = old[shared:], new[shared:]
    if any(segment.role != "user" or segment.kind is not Kind.TEXT for segment in (*old, *new)):
        return False
    return similarity(_joined(old), _joined(new)) < SAME_TEXT


def _texts(call: Call) -> str:
    return _joined(messages_of(call))


def _joined(segments: Iterable[Segment]) -> str:
    return "\n".join(segment.text or "" for segment in segments)
