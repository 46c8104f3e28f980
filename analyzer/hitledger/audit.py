"""The audit: log files -> calls -> chains -> expectations -> verdicts -> money -> one value."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from msgspec.structs import replace

from hitledger.break_results import Shown, break_of
from hitledger.call_columns import Judged
from hitledger.call_segments import Listed, listed
from hitledger.call_table import CallTable
from hitledger.chains import Link, linked
from hitledger.collector import collector_paused
from hitledger.expect import Expectation, Forecaster
from hitledger.findings import findings_of
from hitledger.logs.ingest import Ingest
from hitledger.logs.read import read_logs
from hitledger.money import CallMoney, break_cost, money_of, refuse_unpriced
from hitledger.policies.rules import rules_with
from hitledger.positions import Positions
from hitledger.prices import PriceBook
from hitledger.results import SCHEMA_VERSION, Audit, Break
from hitledger.sources import ingest_result, prices_used, rules_used
from hitledger.stages import Progress, Stages
from hitledger.sums import by_session
from hitledger.tokens import TokenCounter
from hitledger.totals import sessions_of, totals_of
from hitledger.types import Call
from hitledger.verdicts import Judge, MinLoss, Verdict


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit can be asked for."""

    format: str | None = None  # reader to use instead of detection
    strict: bool = False  # a skipped row or an unknown price is an error
    min_loss: MinLoss = field(default_factory=MinLoss)
    prices: Path | None = None  # the user's own prices
    rules: Path | None = None  # the user's own cache rules, before the shipped ones
    tokenizers: tuple[tuple[str, Path], ...] = ()
    shown: Shown = field(default_factory=Shown)
    segments: bool = True  # list the segments of each call, and what they share with its predecessor's
    rows: bool = True  # make the row of every call; else one is made where somebody looks at it
    located: int | None = None  # how many breaks, worst first, get their offset in tokens; None: all


def audit(
    inputs: Sequence[str],
    options: AuditOptions | None = None,
    progress: Progress | None = None,
    judged: Progress | None = None,
) -> Audit:
    """Audit logs: files, folders, globs, "-", or nothing for the usual places.

    `progress` gets bytes read and bytes in all; `judged` gets the same of the steps over calls that follow.

    Raises NothingToReadError where no call was found, UsageError, and with `strict` HitledgerError for a skipped row
    or an unknown price.
    """
    options = options or AuditOptions()
    with collector_paused():
        reading = read_logs(inputs, format=options.format, strict=options.strict, progress=progress)
        calls = with_unique_ids(reading.calls())
        return audit_calls(calls, reading.ingest, options, judged)


def with_unique_ids(calls: Iterable[Call]) -> tuple[Call, ...]:
    """Ids that different files share get a number, so that one id names one call."""
    calls = tuple(calls)
    if len(set(map(attrgetter("id"), calls))) == len(calls):
        return calls
    seen: dict[str, int] = {}
    found: list[Call] = []
    for call in calls:
        number = seen[call.id] = seen.get(call.id, 0) + 1
        found.append(call if number == 1 else replace(call, id=f"{call.id}#{number}"))
    return tuple(found)


def audit_calls(
    calls: Sequence[Call],
    ingest: Ingest,
    options: AuditOptions,
    judged: Progress | None = None,
) -> Audit:
    """Audit calls that were read already, in input order."""
    stages = Stages(judged, len(calls), 5 + options.segments)
    rules, book = rules_with(options.rules), PriceBook(options.prices)
    counter = TokenCounter(dict(options.tokenizers))
    links = linked(calls, stages.over)
    expectations = Forecaster(rules, Positions(counter)).all(calls, [link.predecessor for link in links], stages.over)
    verdicts = Judge(links, expectations, counter, options.min_loss).all(stages.over)
    money = [money_of(book, *known) for known in stages.over(zip(calls, expectations, strict=True))]
    segments = _segments(links, expectations, counter, stages.over) if options.segments else None
    if options.strict:
        refuse_unpriced(calls, money)
    breaks = _breaks(links, verdicts, expectations, money, options)
    table = CallTable(Judged(calls, links, expectations, verdicts, money, segments))
    sums = by_session(table)
    return Audit(
        schema_version=SCHEMA_VERSION,
        ingest=ingest_result(ingest),
        totals=totals_of(sums, breaks, verdicts),
        sessions=sessions_of(sums, breaks),
        calls=table.rows() if options.rows else table,
        breaks=breaks,
        findings=findings_of(links, expectations, frozenset(item.index for item in breaks), rules),
        rules=rules_used(expectations),
        prices=prices_used(calls, money),
    )


def _segments(
    links: Sequence[Link],
    expectations: Sequence[Expectation | None],
    counter: TokenCounter,
    over: Callable[[Iterable[Link]], Iterable[Link]],
) -> list[Listed]:
    """The segments of each call's prompt."""
    before = [links[link.predecessor].call if link.predecessor is not None else None for link in links]
    return [listed(link.call, before[link.index], expectations[link.index], counter) for link in over(links)]


def _breaks(
    links: Sequence[Link],
    verdicts: Sequence[Verdict],
    expectations: Sequence[Expectation | None],
    money: Sequence[CallMoney],
    options: AuditOptions,
) -> tuple[Break, ...]:
    """Worst first: by cost, then by rebilled tokens."""
    listed = [
        (break_cost(link.call, verdict.rebilled, item.rates), link, verdict)
        for link, verdict, item in zip(links, verdicts, money, strict=True)
        if verdict.listed
    ]
    listed.sort(key=lambda item: (-(item[0].total or 0), -item[2].rebilled, item[1].index))
    found: list[Break] = []
    for cost, link, verdict in listed:
        located = options.located is None or len(found) < options.located
        item = break_of(link, verdict, expectations[link.index], cost, options.shown, located)
        if item is not None:
            found.append(item)
    return tuple(found)
