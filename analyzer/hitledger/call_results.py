"""A call, its expectation, verdict and cost as the row that goes into the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from hitledger.attribution import attribution_of, ideal_of
from hitledger.billing import Cost, computed_cost, is_exact
from hitledger.causes.catalogue import fix_of
from hitledger.chains import Link
from hitledger.expect import Expectation, lifetime_of
from hitledger.money import BreakCost, CallMoney
from hitledger.positions import CHARS_PER_TOKEN, Counter, certainty_of
from hitledger.prefix import common_segments, segments_from
from hitledger.prices import Rates
from hitledger.redact import redact, window
from hitledger.results import WARMED, Break, CallResult, SegmentResult
from hitledger.types import CacheWrite, Call, Certainty, Evidence, Kind, Prompt, Segment, Usage
from hitledger.verdicts import Verdict, place_of

EXACT = Evidence.EXACT  # attributes of an enumeration are found slowly
SHOWN_TEXT = 2000  # characters on either side of a difference with --show-text
MAX_VALUE = 100_000  # of a changed value that is looked at for secrets

# The provider's own reasons and the families of ours that agree with them.
REASON_FAMILIES = {
    "model_changed": ("model.", "param.speed", "routing.provider_flip"),
    "system_changed": ("system.",),
    "tools_changed": ("tools.",),
    "messages_changed": ("messages.", "server.", "template."),
    "input_changed": ("messages.", "system."),
    "context_compacted": ("messages.compacted",),
    "prompt_cache_key_changed": ("routing.key_changed",),
    "service_tier_changed": ("param.service_tier",),
    "text_format_changed": ("param.response_format",),
    "reasoning_effort_changed": ("param.effort",),
    "verbosity_changed": ("param.verbosity",),
    "previous_message_not_found": ("ttl.", "routing.", "unexplained", "concurrency."),
    "unavailable": ("param.", "unexplained"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What of the prompts may be shown."""

    text: bool = False
    secrets: bool = False


def call_result(
    calls: Sequence[Call],
    link: Link,
    expectation: Expectation | None,
    verdict: Verdict,
    money: CallMoney,
    counter: Counter,
    with_segments: bool,
) -> CallResult:
    """One row; `calls` are all of the run. Figures that are not exact are named in `certainty`.

    `with_segments`: list the prompt's segments, and what they share with the predecessor's.
    """
    call, usage, cost, rates = link.call, link.call.usage, money.cost, money.rates
    before = calls[link.predecessor] if link.predecessor is not None else None
    segments: tuple[SegmentResult, ...] = ()
    shared, common = 0, None
    if with_segments:
        shared = common_segments(before.prompt, call.prompt) if before is not None else 0
        segments = _segments(call, before, expectation, counter, shared)
        common = _common_tokens(shared, call.prompt, before, expectation)
    total = uncached = read = written = writes = output = source = forecast_read = expected_write = None
    if usage is not None:
        total, uncached, output = usage.input_tokens, usage.uncached_input_tokens, usage.output_tokens
        read, written, writes = usage.cache_read_tokens, usage.cache_write_tokens, _writes(usage.cache_writes)
    if expectation is not None:
        forecast = expectation.forecast
        forecast_read, expected_write, source = forecast.read, forecast.written, forecast.source
    expected = forecast_read if total is None or forecast_read is None or forecast_read < total else total
    ideal = ideal_of(total, verdict.readable_before, forecast_read)
    # By position: a struct of so many fields takes 18 times as long to build by name. Order: that of CallResult.
    return CallResult(
        call.id,
        call.session,
        call.agent,
        call.parent_agent,
        call.project,
        call.place.file,
        call.place.row,
        link.index,
        link.index_in_session,
        before.id if before is not None else None,
        calls[source].id if source is not None else None,
        call.started_at,
        verdict.gap_seconds,
        call.provider,
        call.model,
        call.served_model,
        call.tier,
        call.evidence,
        call.status,
        ttl_of(call, expectation),
        call.purpose,
        call.events,
        0 if call.evidence is EXACT else shared,
        segments,
        common,
        total,
        uncached,
        read,
        written,
        writes,
        output,
        ideal,
        expected,
        (0, expected) if expected and expectation is not None and expectation.rule.best_effort else None,
        expected_write,
        attribution_of(ideal, verdict, expectation),
        cost.total if cost is not None else None,
        _without_cache(usage, rates) if cost is not None else None,
        cost.source if cost is not None else None,
        call.logged_cost,
        redact(call.provider_reason) if call.provider_reason else None,
        _certainty(call, expectation, cost),
        _notes(call, expectation),
        computed_cost(call, rates) if call.logged_cost is not None else None,
    )


def _notes(call: Call, expectation: Expectation | None) -> tuple[str, ...]:
    """The log's own notes, and what a rule lacks to judge the call or a reader has to know of its expected read."""
    if expectation is not None and not expectation.warmed and call.provider and call.model and call.started_at:
        return call.notes
    flags = (
        ("provider_unknown", not call.provider and call.engine is None),
        ("model_unknown", not call.model),
        ("time_unknown", call.started_at is None),
        ("no_rule", expectation is None and bool(call.provider) and bool(len(call.prompt)) and call.status < 400),
        (WARMED, expectation is not None and expectation.warmed),
    )
    return (*call.notes, *(name for name, is_so in flags if is_so))


def ttl_of(call: Call, expectation: Expectation | None) -> str | None:
    """The lifetime in force: what was written, else what is marked, else the rule's default."""
    written = lifetime_of(call)
    if written is not None or expectation is None:
        return written
    marks = expectation.view.marks
    return (marks[-1].ttl if marks else expectation.rule.default_lifetime) or None


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


def _writes(writes: tuple[CacheWrite, ...] | None) -> dict[str, int] | None:
    return None if writes is None else {write.ttl: write.tokens for write in writes if write.tokens}


def _without_cache(usage: Usage | None, rates: Rates | None) -> Decimal | None:
    """Every input token at the input rate; the answer as it was billed."""
    if usage is None or rates is None or rates.output is None:
        return None
    return usage.input_tokens * rates.input + (usage.output_tokens or 0) * rates.output


def _certainty(call: Call, expectation: Expectation | None, cost: Cost | None) -> dict[str, Certainty]:
    return _certainties(
        certainty_of(call),
        call.evidence is EXACT,
        expectation is not None,
        expectation is not None and expectation.forecast.exact,
        cost is not None and not is_exact(cost, call.usage),
        call.usage is not None and call.usage.output_estimated,
    )


@cache
def _certainties(
    inside: Certainty, whole: bool, by_rule: bool, read_exact: bool, cost_estimated: bool, output_estimated: bool
) -> dict[str, Certainty]:
    """One value for all calls that are alike. `inside`: of a position inside the prompt."""
    found: dict[str, Certainty] = {}
    if by_rule and not read_exact:
        found["expected_cache_read_tokens"] = inside
    if by_rule:
        found["expected_cache_write_tokens"] = inside
        found["common_prefix_tokens"] = inside
    found["segments"] = inside if whole else Certainty.ESTIMATED
    if cost_estimated:
        found["cost"] = Certainty.ESTIMATED
    if output_estimated:
        found["output_tokens"] = Certainty.ESTIMATED
    return found


def break_of(
    link: Link,
    verdict: Verdict,
    expectation: Expectation | None,
    cost: BreakCost,
    shown: Shown,
    located: bool = True,
) -> Break | None:
    """The listed loss of a call; None where nothing is listed. `located`: count the tokens in front of the place."""
    diagnosis = verdict.diagnosis
    if diagnosis is None or verdict.readable_before is None:
        return None
    call, difference = link.call, verdict.difference
    own_value = diagnosis.before is not None or diagnosis.after is not None
    offset = diagnosis.offset
    before, after = diagnosis.before, diagnosis.after
    if not own_value and difference is not None and not difference.append_only:
        before, after = difference.leaf_before, difference.leaf_after
        offset = offset if offset is not None else difference.char_offset
    reported = call.usage is not None and call.usage.cache_read_tokens is not None
    certainty = Certainty.EXACT if reported else Certainty.ESTIMATED
    return Break(
        call=call.id,
        session=call.session,
        agent=call.agent,
        index=link.index,
        index_in_session=link.index_in_session,
        cause=diagnosis.cause,
        confidence=diagnosis.confidence,
        path=place_of(verdict),
        char_offset=offset,
        token_offset=_token_offset(verdict, expectation) if located else None,
        readable_before=verdict.readable_before,
        lost_tokens=verdict.lost,
        rebilled_tokens=verdict.rebilled,
        cost=cost.total,
        before=_window(before, offset, shown),
        after=_window(after, offset, shown),
        provider_reason=redact(call.provider_reason) if call.provider_reason else None,
        agrees_with_provider=_agrees(diagnosis.cause, call.provider_reason),
        note=redact(diagnosis.note),
        fix=fix_of(diagnosis.cause),
        certainty=certainty,
        cost_certainty=certainty if cost.exact else Certainty.ESTIMATED,
    )


def _token_offset(verdict: Verdict, expectation: Expectation | None) -> int | None:
    difference = verdict.difference
    if difference is None or difference.append_only or expectation is None:
        return None
    view = expectation.view
    if difference.index >= len(view.prompt):
        return None
    start = view.tokens_at(difference.index)
    after = difference.after
    if after is None or not after.chars:
        return start
    width = view.tokens_at(difference.index + 1) - start
    return start + width * difference.segment_offset // after.chars


def _window(value: str | None, offset: int | None, shown: Shown) -> str | None:
    if value is None:
        return None
    at = offset or 0
    value = value[max(0, at - MAX_VALUE) : at + MAX_VALUE]
    at = min(at, MAX_VALUE)
    return window(value, at, SHOWN_TEXT if shown.text else 40, show_secrets=shown.secrets)


def _agrees(cause: str, reason: str | None) -> bool | None:
    families = REASON_FAMILIES.get(reason or "")
    return None if families is None else cause.startswith(families)
