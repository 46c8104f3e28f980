"""Sums over calls and breaks. Unknown figures are left out of a sum and counted, never taken for zero."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from operator import attrgetter

from hitledger.billing import COST_LEAVES_OUT
from hitledger.expect import SLACK_TOKENS
from hitledger.results import WARMED, Break, Calibration, CallResult, CauseTotal, LoggedCosts, SessionResult, Totals
from hitledger.verdicts import Verdict


def totals_of(calls: Sequence[CallResult], breaks: Sequence[Break], verdicts: Sequence[Verdict]) -> Totals:
    """The figures of the whole run."""
    small = [verdict for verdict in verdicts if verdict.lost and not verdict.listed]
    read, total = _sum(calls, "cache_read_tokens"), _sum(calls, "input_tokens")
    return Totals(
        calls=len(calls),
        sessions=len({call.session for call in calls}),
        calls_without_usage=sum(call.input_tokens is None for call in calls),
        calls_without_price=sum(call.cost is None and call.input_tokens is not None for call in calls),
        input_tokens=total,
        uncached_input_tokens=_sum(calls, "uncached_input_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=_sum(calls, "cache_write_tokens"),
        output_tokens=_sum(calls, "output_tokens"),
        hit_rate=hit_rate(calls),
        ideal_cache_read_tokens=_sum(calls, "ideal_cache_read_tokens"),
        expected_cache_read_tokens=_sum(calls, "expected_cache_read_tokens"),
        cost=_money(c.cost for c in calls),
        cost_without_cache=_money(c.cost_without_cache for c in calls),
        break_cost=_money(b.cost for b in breaks),
        lost_tokens=sum(b.lost_tokens for b in breaks),
        rebilled_tokens=sum(b.rebilled_tokens for b in breaks),
        small_breaks=len(small),
        small_lost_tokens=sum(verdict.lost for verdict in small),
        evidence=dict(sorted(Counter(str(call.evidence) for call in calls).items())),
        by_cause=_by_cause(breaks),
        calibration=calibration_of(calls),
        logged_costs=logged_costs_of(calls),
    )


def hit_rate(calls: Sequence[CallResult]) -> float | None:
    """Cache-read tokens over input tokens, of the calls that report reads; None where none does."""
    known = [call for call in calls if call.cache_read_tokens is not None]
    total = _sum(known, "input_tokens")
    return _sum(known, "cache_read_tokens") / total if total else None


def _sum(calls: Sequence[CallResult], figure: str) -> int:
    return sum(filter(None, map(attrgetter(figure), calls)))


def _money(figures: Iterable[Decimal | None]) -> Decimal | None:
    """None where no figure is known."""
    known = [figure for figure in figures if figure is not None]
    return sum(known, Decimal(0)) if known else None


def _by_cause(breaks: Sequence[Break]) -> tuple[CauseTotal, ...]:
    """Dearest cause first."""
    groups: dict[str, list[Break]] = defaultdict(list)
    for item in breaks:
        groups[item.cause].append(item)
    rows = [
        CauseTotal(
            cause=cause,
            breaks=len(items),
            lost_tokens=sum(item.lost_tokens for item in items),
            rebilled_tokens=sum(item.rebilled_tokens for item in items),
            cost=_money(item.cost for item in items),
        )
        for cause, items in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.cost or 0), -row.rebilled_tokens, row.cause)))


def logged_costs_of(calls: Sequence[CallResult]) -> LoggedCosts | None:
    """The log's own costs beside ours; None where no call has both."""
    pairs = [
        (call.logged_cost, call.computed_cost)
        for call in calls
        if call.logged_cost is not None and call.computed_cost is not None
    ]
    if not pairs:
        return None
    left_out = Counter(COST_LEAVES_OUT[note] for call in calls for note in call.notes if note in COST_LEAVES_OUT)
    return LoggedCosts(
        calls=len(pairs),
        logged=sum((logged for logged, _ in pairs), Decimal(0)),
        computed=sum((computed for _, computed in pairs), Decimal(0)),
        not_taken=dict(sorted(left_out.items())),
    )


BLOCK = 128  # tokens; the coarsest step in which a provider reports reads


def calibration_of(calls: Sequence[CallResult]) -> Calibration | None:
    """Expected against reported, over calls that have a predecessor and both figures.

    Left out and counted: calls that read more than any logged call had left of their prompt, since what an unlogged
    call wrote is no matter of the rule.
    """
    known = [
        (abs(call.expected_cache_read_tokens - call.cache_read_tokens), call.input_tokens, WARMED in call.notes)
        for call in calls
        if call.predecessor is not None
        and call.expected_cache_read_tokens is not None
        and call.cache_read_tokens is not None
        and call.input_tokens
    ]
    errors = [(error, total) for error, total, warmed in known if not warmed]
    if not errors:
        return None
    return Calibration(
        calls=len(errors),
        exact=sum(not error for error, _ in errors),
        within_block=sum(error < BLOCK for error, _ in errors),
        within_1_percent=sum(error <= max(SLACK_TOKENS, total / 100) for error, total in errors),
        token_weighted_error=sum(error for error, _ in errors) / sum(total for _, total in errors),
        warmed=len(known) - len(errors),
    )


def sessions_of(calls: Sequence[CallResult], breaks: Sequence[Break]) -> tuple[SessionResult, ...]:
    """One row a session, in the order of their first calls."""
    groups: dict[str, list[CallResult]] = {}
    for call in calls:
        groups.setdefault(call.session, []).append(call)
    broken: dict[str, list[Break]] = defaultdict(list)
    for item in breaks:
        broken[item.session].append(item)
    return tuple(_session(name, rows, broken[name]) for name, rows in groups.items())


def _session(name: str, calls: Sequence[CallResult], breaks: Sequence[Break]) -> SessionResult:
    times = [call.started_at for call in calls if call.started_at is not None]
    read, total = _sum(calls, "cache_read_tokens"), _sum(calls, "input_tokens")
    return SessionResult(
        id=name,
        project=next((call.project for call in calls if call.project), ""),
        agents=tuple(dict.fromkeys(call.agent for call in calls)),
        calls=len(calls),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        models=tuple(sorted({call.model for call in calls})),
        input_tokens=total,
        cache_read_tokens=read,
        cache_write_tokens=_sum(calls, "cache_write_tokens"),
        output_tokens=_sum(calls, "output_tokens"),
        hit_rate=hit_rate(calls),
        cost=_money(c.cost for c in calls),
        break_cost=_money(b.cost for b in breaks),
        breaks=len(breaks),
    )
