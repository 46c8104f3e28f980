"""Sums over calls and breaks. Unknown figures are left out of a sum and counted, never taken for zero."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal

from hitledger.billing import COST_LEAVES_OUT
from hitledger.columns import columns, money, tokens, where_known
from hitledger.expect import SLACK_TOKENS
from hitledger.results import WARMED, Break, Calibration, CallResult, CauseTotal, LoggedCosts, SessionResult, Totals
from hitledger.verdicts import Verdict


def totals_of(calls: Sequence[CallResult], breaks: Sequence[Break], verdicts: Sequence[Verdict]) -> Totals:
    """The figures of the whole run."""
    small = [verdict.lost for verdict in verdicts if verdict.lost and not verdict.listed]
    names = ("input_tokens", "uncached_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    total, uncached, read, written, output = columns(calls, *names)
    ideal, expected = columns(calls, "ideal_cache_read_tokens", "expected_cache_read_tokens")
    cost, without_cache, evidence, session = columns(calls, "cost", "cost_without_cache", "evidence", "session")
    return Totals(
        calls=len(calls),
        sessions=len(set(session)),
        calls_without_usage=total.count(None),
        calls_without_price=_unpriced(cost, total),
        input_tokens=tokens(total),
        uncached_input_tokens=tokens(uncached),
        cache_read_tokens=tokens(read),
        cache_write_tokens=tokens(written),
        output_tokens=tokens(output),
        hit_rate=_hit_rate(total, read),
        ideal_cache_read_tokens=tokens(ideal),
        expected_cache_read_tokens=tokens(expected),
        cost=money(cost),
        cost_without_cache=money(without_cache),
        break_cost=money([item.cost for item in breaks]),
        lost_tokens=sum(item.lost_tokens for item in breaks),
        rebilled_tokens=sum(item.rebilled_tokens for item in breaks),
        small_breaks=len(small),
        small_lost_tokens=sum(small),
        evidence={str(name): number for name, number in sorted(Counter(evidence).items())},
        by_cause=_by_cause(breaks),
        calibration=calibration_of(calls),
        logged_costs=logged_costs_of(calls),
    )


def _hit_rate(total: Sequence[int | None], read: Sequence[int | None]) -> float | None:
    """Cache-read tokens over input tokens, of the calls that report reads; None where none does."""
    whole = where_known(total, read)
    return tokens(read) / whole if whole else None


def _unpriced(cost: Sequence[Decimal | None], total: Sequence[int | None]) -> int:
    return sum([figure is None and whole is not None for figure, whole in zip(cost, total, strict=True)])


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
            cost=money([item.cost for item in items]),
        )
        for cause, items in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.cost or 0), -row.rebilled_tokens, row.cause)))


def logged_costs_of(calls: Sequence[CallResult]) -> LoggedCosts | None:
    """The log's own costs beside ours; None where no call has both."""
    both = [call for call in calls if call.logged_cost is not None]
    pairs = [(call.logged_cost, call.computed_cost) for call in both if call.computed_cost is not None]
    if not pairs:
        return None
    left_out = Counter(COST_LEAVES_OUT[note] for call in calls for note in call.notes if note in COST_LEAVES_OUT)
    return LoggedCosts(
        calls=len(pairs),
        logged=sum((logged for logged, _ in pairs if logged is not None), Decimal(0)),
        computed=sum((computed for _, computed in pairs), Decimal(0)),
        not_taken=dict(sorted(left_out.items())),
    )


BLOCK = 128  # tokens; the coarsest step in which a provider reports reads


def calibration_of(calls: Sequence[CallResult]) -> Calibration | None:
    """Expected against reported, over calls that have a predecessor and both figures.

    Left out and counted: calls that read more than any logged call had left of their prompt, since what an unlogged
    call wrote is no matter of the rule.
    """
    figures = columns(calls, "predecessor", "expected_cache_read_tokens", "cache_read_tokens", "input_tokens", "notes")
    known = [
        (abs(expected - read), total, WARMED in notes)
        for predecessor, expected, read, total, notes in zip(*figures, strict=True)
        if total and predecessor is not None and expected is not None and read is not None
    ]
    judged = [(error, total) for error, total, warmed in known if not warmed]
    if not judged:
        return None
    errors = [error for error, _ in judged]
    wrong = [(error, total) for error, total in judged if error]  # few: a sum over them is a short one
    return Calibration(
        calls=len(errors),
        exact=len(errors) - len(wrong),
        within_block=len(errors) - sum(error >= BLOCK for error, _ in wrong),
        within_1_percent=len(errors) - sum(error > max(SLACK_TOKENS, total / 100) for error, total in wrong),
        token_weighted_error=sum(errors) / sum([total for _, total in judged]),
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
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost")
    total, read, written, output, cost = columns(calls, *names)
    started, model, project, agent = columns(calls, "started_at", "model", "project", "agent")
    times = [time for time in started if time is not None]
    return SessionResult(
        id=name,
        project=next(filter(None, project), ""),
        agents=tuple(dict.fromkeys(agent)),
        calls=len(calls),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        models=tuple(sorted(set(model))),
        input_tokens=tokens(total),
        cache_read_tokens=tokens(read),
        cache_write_tokens=tokens(written),
        output_tokens=tokens(output),
        hit_rate=_hit_rate(total, read),
        cost=money(cost),
        break_cost=money([item.cost for item in breaks]),
        breaks=len(breaks),
    )
