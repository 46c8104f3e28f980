"""Cache marks of one request: refused, too few, below the minimum, too far apart, behind text that changes."""

from collections.abc import Iterator

from msgspec.structs import replace

from hitledger.causes.case import Confidence
from hitledger.causes.marks import refused
from hitledger.check.findings import CheckFinding, Level, finding
from hitledger.check.material import Material, MaterialKind, call_of
from hitledger.check.prefix_end import PrefixEnd, prefix_end
from hitledger.expect import Forecaster, rule_of
from hitledger.policies.cache import Obstacle
from hitledger.policies.rule import Algorithm, Rule
from hitledger.policies.rules import Rules
from hitledger.positions import Positions
from hitledger.tokens import TokenCounter
from hitledger.types import Segment, Tier, prompt_of


def mark_findings(
    material: Material, volatile: frozenset[int], counter: TokenCounter, rules: Rules
) -> Iterator[CheckFinding]:
    """Findings of a request body whose provider caches at marks. `volatile`: segments that change at each call."""
    call = call_of(material)
    rule = rule_of(call, rules)
    if material.kind is not MaterialKind.BODY or rule is None or not rule.max_breakpoints:
        return
    diagnosis = refused(call, rule.max_breakpoints)
    if diagnosis is not None:
        note = diagnosis.note.partition(";")[0]
        yield finding(material, diagnosis.cause, diagnosis.path, Level.ERROR, diagnosis.confidence, note=note)
        return
    end = prefix_end(material)
    tokens = [counter.count(segment, material.model) for segment in material.prompt.own]
    yield from _behind_volatile(material, end, volatile)
    if rule.algorithm is Algorithm.BREAKPOINTS:
        yield from _too_few(material, end, rule, tokens)
    yield from _below_minimum(material, end, rule, tokens)
    yield from _far_apart(material, end, rules, counter)


def _behind_volatile(material: Material, end: PrefixEnd, volatile: frozenset[int]) -> Iterator[CheckFinding]:
    if not end.marks or not volatile:
        return
    first = min(volatile)
    if not end.in_front(first) and end.marks[0] > first:  # in front it is a finding of its own
        path = material.prompt.own[end.marks[0] - 1].path
        note = f"all marks stand behind {material.prompt.own[first].path}, which changes: what they write is never read"
        yield finding(material, "breakpoint.on_volatile_tail", path, Level.ERROR, note=note)


def _too_few(material: Material, end: PrefixEnd, rule: Rule, tokens: list[int]) -> Iterator[CheckFinding]:
    """No mark, or none in a history that is long enough to be cached by itself."""
    minimum = rule.minimum(material.model)
    last = end.marks[-1] if end.marks else 0
    left = sum(tokens[last : end.newest])
    if left >= max(minimum, 1) and sum(tokens[: end.newest]) >= minimum:
        path = material.prompt.own[end.newest - 1].path
        what = "behind the last mark" if last else "and no mark"
        note = f"about {left:,} tokens {what} that the next request sends again"
        yield finding(material, "breakpoint.missing", path, Level.WARNING, Confidence.LIKELY, note=note)


def _below_minimum(material: Material, end: PrefixEnd, rule: Rule, tokens: list[int]) -> Iterator[CheckFinding]:
    if not end.marks:
        return
    marked, minimum = sum(tokens[: end.marks[-1]]), rule.minimum(material.model)
    if 0 < marked < minimum:
        path = material.prompt.own[end.marks[-1] - 1].path
        note = f"about {marked:,} tokens up to the last mark, {material.model} caches from {minimum:,} on"
        yield finding(material, "breakpoint.below_minimum", path, Level.WARNING, Confidence.LIKELY, note=note)


def _far_apart(material: Material, end: PrefixEnd, rules: Rules, counter: TokenCounter) -> Iterator[CheckFinding]:
    """Send the request before this one, marked at its end, then this one: by the rule it has to find that entry."""
    earlier = _request_before(material, end)
    if earlier is None or not end.marks:
        return
    call = call_of(material)
    before = replace(call, id="before", prompt=prompt_of(earlier))
    forecaster = Forecaster(rules, Positions(counter))
    forecaster.next(before, 0)
    found = forecaster.next(call, 1)
    if found is None or found.blocked is None or found.blocked.obstacle is not Obstacle.BEYOND_LOOKBACK:
        return
    path = material.prompt.own[end.marks[-1] - 1].path
    note = f"what the request before this one wrote ends at {earlier[-1].path}, out of reach of every mark"
    yield finding(material, "breakpoint.beyond_lookback", path, Level.WARNING, Confidence.LIKELY, note=note)


def _request_before(material: Material, end: PrefixEnd) -> tuple[Segment, ...] | None:
    """The prompt up to the last answer, its last block marked as agents do; None for a first request."""
    segments = material.prompt.own
    answer = next(
        (i for i in range(end.newest - 1, -1, -1) if segments[i].tier is Tier.MESSAGES and segments[i].role == "assistant"),
        None,
    )  # fmt: skip
    if answer is None:
        return None
    while answer > 0 and segments[answer - 1].role == "assistant":
        answer -= 1
    if answer == 0 or segments[answer - 1].tier is not Tier.MESSAGES:
        return None
    ttl = next(segment.mark for segment in reversed(segments) if segment.mark) if end.marks else "5m"
    kept = [replace(s, mark=None) if s.tier is Tier.MESSAGES else s for s in segments[:answer]]
    return (*kept[:-1], replace(kept[-1], mark=ttl))
