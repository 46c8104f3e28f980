"""The figures of a whole run, of each session and of each cause."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter

from hitledger.columns import money
from hitledger.results import Break, Calibration, CauseTotal, LoggedCosts, SessionResult, Totals
from hitledger.sums import Sums
from hitledger.verdicts import Verdict


def totals_of(sessions: Mapping[str, Sums], breaks: Sequence[Break], verdicts: Sequence[Verdict]) -> Totals:
    """The figures of the whole run, from the sums of its sessions."""
    small = [verdict.lost for verdict in verdicts if verdict.lost and not verdict.listed]
    sums = tuple(sessions.values())
    read, reporting = _sum(sums, "cache_read_tokens"), _sum(sums, "reporting_tokens")
    evidence = sum((one.evidence for one in sums), Counter[str]())
    return Totals(
        calls=_sum(sums, "calls"),
        sessions=len(sums),
        calls_without_usage=_sum(sums, "without_usage"),
        calls_without_price=_sum(sums, "without_price"),
        input_tokens=_sum(sums, "input_tokens"),
        uncached_input_tokens=_sum(sums, "uncached_input_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=_sum(sums, "cache_write_tokens"),
        output_tokens=_sum(sums, "output_tokens"),
        hit_rate=read / reporting if reporting else None,
        ideal_cache_read_tokens=_sum(sums, "ideal_cache_read_tokens"),
        expected_cache_read_tokens=_sum(sums, "expected_cache_read_tokens"),
        cost=money([one.cost for one in sums]),
        cost_without_cache=money([one.cost_without_cache for one in sums]),
        break_cost=money([item.cost for item in breaks]),
        lost_tokens=sum(item.lost_tokens for item in breaks),
        rebilled_tokens=sum(item.rebilled_tokens for item in breaks),
        small_breaks=len(small),
        small_lost_tokens=sum(small),
        evidence={str(name): number for name, number in sorted(evidence.items())},
        by_cause=_by_cause(breaks),
        calibration=calibration_of(sums),
        logged_costs=_logged_costs(sums),
    )


def _sum(sums: Iterable[Sums], figure: str) -> int:
    return sum(map(attrgetter(figure), sums))


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


def _logged_costs(sums: Sequence[Sums]) -> LoggedCosts | None:
    """The log's own costs beside ours; None where no call has both."""
    pairs = [pair for one in sums for pair in one.both_costs]
    if not pairs:
        return None
    return LoggedCosts(
        calls=len(pairs),
        logged=sum((logged for logged, _ in pairs), Decimal(0)),
        computed=sum((computed for _, computed in pairs), Decimal(0)),
        not_taken=dict(sorted(sum((one.not_taken for one in sums), Counter[str]()).items())),
    )


def calibration_of(sums: Iterable[Sums]) -> Calibration | None:
    """Expected against reported reads; None where no call has both and a predecessor."""
    errors = [one.errors for one in sums]
    calls, tokens = sum(one.calls for one in errors), sum(one.tokens for one in errors)
    if not calls:
        return None
    return Calibration(
        calls=calls,
        exact=sum(one.exact for one in errors),
        within_block=sum(one.within_block for one in errors),
        within_1_percent=sum(one.within_1_percent for one in errors),
        token_weighted_error=sum(one.wrong_tokens for one in errors) / tokens,
        warmed=sum(one.warmed for one in errors),
    )


def sessions_of(sessions: Mapping[str, Sums], breaks: Sequence[Break]) -> tuple[SessionResult, ...]:
    """One row a session, in the order of their first calls."""
    broken: dict[str, list[Break]] = defaultdict(list)
    for item in breaks:
        broken[item.session].append(item)
    return tuple(_session(name, sums, broken[name]) for name, sums in sessions.items())


def _session(name: str, sums: Sums, breaks: Sequence[Break]) -> SessionResult:
    return SessionResult(
        id=name,
        project=sums.project,
        agents=sums.agents,
        calls=sums.calls,
        started_at=sums.started_at,
        ended_at=sums.ended_at,
        models=sums.models,
        input_tokens=sums.input_tokens,
        cache_read_tokens=sums.cache_read_tokens,
        cache_write_tokens=sums.cache_write_tokens,
        output_tokens=sums.output_tokens,
        hit_rate=sums.hit_rate,
        cost=sums.cost,
        break_cost=money([item.cost for item in breaks]),
        breaks=len(breaks),
    )
