"""The segments of a call's prompt as rows of the result, and what they share with its predecessor's."""

import msgspec

from hitledger.expect import Expectation
from hitledger.positions import CHARS_PER_TOKEN, Counter
from hitledger.prefix import common_segments, segments_from
from hitledger.results import SegmentResult
from hitledger.types import Call, Evidence, Kind, Prompt, Segment

EXACT = Evidence.EXACT  # attributes of an enumeration are found slowly


class Listed(msgspec.Struct, frozen=True, gc=False):
    """The segments of one call."""

    shared: int  # leading ones that the predecessor's prompt has too
    segments: tuple[SegmentResult, ...]
    common_tokens: int | None  # what the two prompts literally share


def listed(call: Call, before: Call | None, expectation: Expectation | None, counter: Counter) -> Listed:
    """Segments with their tokens; `before` is the predecessor."""
    shared = common_segments(before.prompt, call.prompt) if before is not None else 0
    segments = _segments(call, before, expectation, counter, shared)
    return Listed(shared, segments, _common_tokens(shared, call.prompt, before, expectation))


def _segments(
    call: Call, before: Call | None, expectation: Expectation | None, counter: Counter, shared: int
) -> tuple[SegmentResult, ...]:
    """A full prompt's segments with their tokens; of a transcript's those that the predecessor did not have."""
    if call.evidence is not EXACT:
        return _own_segments(call, before, shared)
    segments = expectation.view.prompt.segments() if expectation is not None else call.prompt.segments()
    counted = [counter.count(segment, call.model) for segment in segments]
    if expectation is None:
        return tuple(_segment(s, n, n) for s, n in zip(segments, counted, strict=True))
    at = expectation.view.tokens_at
    return tuple(
        _segment(segment, at(index + 1) - at(index), raw)
        for index, (segment, raw) in enumerate(zip(segments, counted, strict=True))
    )


def _own_segments(call: Call, before: Call | None, shared: int) -> tuple[SegmentResult, ...]:
    """A transcript's segments behind the shared ones, with estimates: what the call added to the logged total, in
    proportion to the characters. The first call's hidden part takes what its visible text does not."""
    own = tuple(segments_from(call.prompt, shared))
    total, earlier = call.input_tokens, before.input_tokens if before is not None else None
    chars = sum(segment.chars for segment in own if segment.kind is not Kind.HIDDEN)
    tokens = round(chars / CHARS_PER_TOKEN)
    hidden = None if total is None else max(total - tokens, 0)
    if total is not None and earlier is not None and before is not None and shared == len(before.prompt):
        tokens = total - earlier if total > earlier else tokens
    return tuple(
        _segment(segment, hidden if segment.kind is Kind.HIDDEN else round(tokens * segment.chars / (chars or 1)), None)
        for segment in own
    )


def _segment(segment: Segment, tokens: int | None, counted: int | None) -> SegmentResult:
    marked = segment.mark is not None
    return SegmentResult(segment.kind, segment.path, tokens, segment.digest.hex(), marked, segment.mark, counted)


def _common_tokens(shared: int, prompt: Prompt, before: Call | None, expectation: Expectation | None) -> int | None:
    if before is None or expectation is None:
        return None
    view = expectation.view
    return view.tokens_at(min(shared, prompt.length)) if view.prompt.length == prompt.length else None
