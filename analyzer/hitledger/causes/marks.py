"""Cache marks: dropped, misplaced, frozen, too many, in the wrong order; what a single request shows of them."""

from itertools import pairwise

from hitledger.causes.case import Case, Confidence, Diagnosis
from hitledger.lifetimes import seconds_of
from hitledger.policies.cache import Obstacle
from hitledger.prefix import APPEND_ONLY
from hitledger.types import Call, Kind, Segment


def diagnose(case: Case) -> Diagnosis | None:
    """The payload grew only, yet its marks no longer meet what was written."""
    if case.expectation is None or not case.expectation.rule.max_breakpoints:
        return None
    if case.call.evidence != "exact" or case.before.evidence != "exact":
        return None
    old, new = marked(case.before), marked(case.call)
    if old and not new:
        return Diagnosis("client.marker_dropped", Confidence.CERTAIN, old[-1].path, "the request has no cache mark")
    blocked = case.expectation.blocked
    in_front = blocked is None or blocked.obstacle is Obstacle.BEHIND_MARKS
    if not new and in_front and not case.expectation.view.written:
        turned_off = next((p for p in case.call.parameters if p.name == "cache_retention"), None)
        path = turned_off.path if turned_off else APPEND_ONLY
        return Diagnosis("client.marker_dropped", Confidence.CERTAIN, path, "no implicit mark, and none is set")
    if new and case.expectation.forecast.read < case.readable_before and in_front:
        return Diagnosis("breakpoint.misplaced", Confidence.POSSIBLE, new[-1].path)
    return None


def marked(call: Call) -> list[Segment]:
    """The segments that carry a mark, in prompt order."""
    return [segment for segment in call.prompt.segments() if segment.mark is not None]


def refused(call: Call, max_breakpoints: int) -> Diagnosis | None:
    """Why the provider refused the marks of a request (status 4xx)."""
    marks = marked(call)
    if max_breakpoints and len(marks) > max_breakpoints:
        note = (
            f"{len(marks)} marks, {max_breakpoints} are allowed; the request was refused and is neither miss nor cost"
        )
        return Diagnosis("breakpoint.too_many", Confidence.CERTAIN, marks[max_breakpoints].path, note)
    for earlier, later in pairwise(marks):
        if seconds_of(later.mark or "") > seconds_of(earlier.mark or ""):
            note = f"a {later.mark} mark stands behind a {earlier.mark} one"
            return Diagnosis("breakpoint.ttl_order", Confidence.CERTAIN, later.path, note)
    for segment in marks:
        if segment.kind is Kind.THINKING or not segment.chars:
            return Diagnosis("breakpoint.invalid", Confidence.CERTAIN, segment.path, "this block cannot carry a mark")
    return None


def below_minimum(call: Call, tokens: int, minimum: int) -> Diagnosis | None:
    """Marks are there, nothing was read or written, and the marked prefix is shorter than the model's minimum."""
    usage = call.usage
    if usage is None or usage.cache_read_tokens != 0 or usage.cache_write_tokens != 0 or not 0 < tokens < minimum:
        return None
    note = f"about {tokens:,} marked tokens, {call.model} caches from {minimum:,} on; the provider says nothing of it"
    marks = marked(call)
    return Diagnosis("breakpoint.below_minimum", Confidence.CERTAIN, marks[-1].path if marks else APPEND_ONLY, note)
