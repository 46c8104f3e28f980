"""The audit: log files -> calls -> chains -> expectations -> verdicts -> money -> one value."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hitledger.billing import Cost, CostSource, cost_of, cost_of_break, rates_of, trusted_cost
from hitledger.call_results import Shown, break_of, call_result
from hitledger.chains import Chains, Link
from hitledger.collector import collector_paused
from hitledger.errors import HitledgerError
from hitledger.expect import Expectation, Forecaster
from hitledger.findings import findings_of
from hitledger.logs.ingest import Ingest
from hitledger.logs.read import read_logs
from hitledger.policies.rule import Rule
from hitledger.policies.rules import rules_with
from hitledger.positions import Positions
from hitledger.prices import PriceBook, Rates, UnknownPrice
from hitledger.results import (
    SCHEMA_VERSION,
    Audit,
    Break,
    FileIngest,
    IngestResult,
    PriceUsed,
    RuleUsed,
    SkippedRow,
)
from hitledger.stages import Stages
from hitledger.tokens import TokenCounter
from hitledger.totals import sessions_of, totals_of
from hitledger.types import CacheWrite, Call, Usage
from hitledger.verdicts import Judge, MinLoss, Verdict

PER_MILLION = 1_000_000


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
    segments: bool = True  # list the segments of each call
    located: int | None = None  # how many breaks, worst first, get their offset in tokens; None: all


class _Money(msgspec.Struct, frozen=True):
    """What a call costs, at which rates; `error` says why it has no price."""

    cost: Cost | None
    rates: Rates | None
    error: str | None


def audit(
    inputs: Sequence[str],
    options: AuditOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
    judged: Callable[[int, int], None] | None = None,
) -> Audit:
    """Audit logs: files, folders, globs, "-", or nothing for the usual places.

    `progress` gets bytes read and bytes in all; `judged` gets the same of the steps over calls that follow.

    Raises NothingToReadError where no call was found, UsageError, and with `strict` HitledgerError for a skipped row
    or an unknown price.
    """
    options = options or AuditOptions()
    with collector_paused():
        reading = read_logs(inputs, format=options.format, strict=options.strict, progress=progress)
        calls = tuple(with_unique_ids(reading.calls()))
        return audit_calls(calls, reading.ingest, options, judged)


def with_unique_ids(calls: Iterable[Call]) -> Iterator[Call]:
    """Ids that different files share get a number, so that one id names one call."""
    seen: dict[str, int] = {}
    for call in calls:
        number = seen[call.id] = seen.get(call.id, 0) + 1
        yield call if number == 1 else replace(call, id=f"{call.id}#{number}")


def audit_calls(
    calls: Sequence[Call],
    ingest: Ingest,
    options: AuditOptions,
    judged: Callable[[int, int], None] | None = None,
) -> Audit:
    """Audit calls that were read already, in input order."""
    stages = Stages(judged, len(calls), 4)
    rules = rules_with(options.rules)
    counter = TokenCounter(dict(options.tokenizers))
    chains = Chains()
    links = [chains.link(call) for call in stages.over(calls)]
    expectations = Forecaster(rules, Positions(counter)).all(calls, [link.predecessor for link in links], stages.over)
    verdicts = Judge(links, expectations, counter, options.min_loss).all()
    book = PriceBook(options.prices)
    pairs = zip(calls, expectations, strict=True)
    money = [_money_of(book, call, expectation) for call, expectation in stages.over(pairs)]
    if options.strict:
        _refuse_unpriced(calls, money)
    rows = tuple(
        call_result(
            link,
            calls[link.predecessor] if link.predecessor is not None else None,
            _compared(calls, expectations[link.index]),
            expectations[link.index],
            verdicts[link.index],
            money[link.index].cost,
            money[link.index].rates,
            counter,
            options.segments,
        )
        for link in stages.over(links)
    )
    breaks = _breaks(links, verdicts, expectations, money, options)
    return Audit(
        schema_version=SCHEMA_VERSION,
        ingest=ingest_result(ingest),
        totals=totals_of(rows, breaks, verdicts),
        sessions=sessions_of(rows, breaks),
        calls=rows,
        breaks=breaks,
        findings=findings_of(links, expectations, frozenset(item.index for item in breaks), rules),
        rules=rules_used(expectations),
        prices=prices_used(calls, money),
    )


def _compared(calls: Sequence[Call], expectation: Expectation | None) -> str | None:
    source = expectation.forecast.source if expectation is not None else None
    return calls[source].id if source is not None else None


def _money_of(book: PriceBook, call: Call, expectation: Expectation | None) -> _Money:
    expected = None if call.usage is not None else _expected_usage(expectation)
    usage = call.usage or expected
    if call.status >= 400 or (usage is None and trusted_cost(call) is None):
        return _Money(None, None, None)
    rates = rates_of(book, call, usage.input_tokens if usage is not None else 0)
    known = rates if isinstance(rates, Rates) else None
    try:
        cost = cost_of(call, known, expected)
    except UnknownPrice as error:
        return _Money(None, known, str(rates if isinstance(rates, UnknownPrice) else error))
    return _Money(cost, known, None if known is not None else str(rates))


def _expected_usage(expectation: Expectation | None) -> Usage | None:
    """What the rule says of a call whose usage was not logged; its answer is not known."""
    if expectation is None:
        return None
    forecast, total = expectation.forecast, expectation.view.tokens_at(expectation.view.length)
    written = sum(tokens for _, tokens in forecast.writes)
    writes = tuple(CacheWrite(ttl, tokens) for ttl, tokens in forecast.writes)
    return Usage(max(0, total - forecast.read - written), forecast.read, writes, None)


def _refuse_unpriced(calls: Sequence[Call], money: Sequence[_Money]) -> None:
    for call, item in zip(calls, money, strict=True):
        if item.cost is None and item.error is not None:
            raise HitledgerError(f"{call.place.file}:{call.place.row}: {item.error} (--strict); give it with --prices")


def _breaks(
    links: Sequence[Link],
    verdicts: Sequence[Verdict],
    expectations: Sequence[Expectation | None],
    money: Sequence[_Money],
    options: AuditOptions,
) -> tuple[Break, ...]:
    """Worst first: by cost, then by rebilled tokens."""
    listed = [
        (_break_cost(link.call, verdict.rebilled, item.rates), link, verdict)
        for link, verdict, item in zip(links, verdicts, money, strict=True)
        if verdict.listed
    ]
    listed.sort(key=lambda item: (-(item[0] or 0), -item[2].rebilled, item[1].index))
    found: list[Break] = []
    for cost, link, verdict in listed:
        located = options.located is None or len(found) < options.located
        item = break_of(link, verdict, expectations[link.index], cost, options.shown, located)
        if item is not None:
            found.append(item)
    return tuple(found)


def _break_cost(call: Call, rebilled: int, rates: Rates | None) -> Decimal | None:
    if rates is None or call.usage is None:
        return None
    try:
        return cost_of_break(call, rebilled, rates)
    except UnknownPrice:
        return None


def ingest_result(ingest: Ingest) -> IngestResult:
    """The ledgers as values."""
    return IngestResult(
        files=tuple(
            FileIngest(
                file=ledger.file,
                format=ledger.format,
                rows=ledger.rows,
                calls=ledger.calls,
                known=dict(sorted(ledger.known_rows.items())),
                skipped=ledger.skipped,
                notes=dict(sorted(ledger.notes.items())),
            )
            for ledger in ingest.ledgers
        ),
        skips=tuple(SkippedRow(s.file, s.row, s.reason) for ledger in ingest.ledgers for s in ledger.skips),
        refused=tuple(SkippedRow(refusal.file, 0, refusal.reason) for refusal in ingest.refusals),
    )


def rules_used(expectations: Sequence[Expectation | None]) -> tuple[RuleUsed, ...]:
    """The rules that were applied, with the number of calls."""
    counted = _counted(expectation.rule for expectation in expectations if expectation is not None)
    return tuple(
        RuleUsed(
            id=rule.id,
            provider=rule.provider,
            algorithm=rule.algorithm,
            valid_from=rule.valid_from.isoformat(),
            evidence=rule.evidence,
            source=rule.source,
            checked=rule.checked.isoformat(),
            calls=calls,
            notes=rule.notes,
        )
        for rule, calls in sorted(counted.items(), key=lambda item: item[0].id)
    )


def _counted(rules: Iterable[Rule]) -> Counter[Rule]:
    """How often each rule comes. Most are the same object: only different ones are compared field by field."""
    held: dict[int, Rule] = {}
    number: Counter[int] = Counter()
    for rule in rules:
        held[id(rule)] = rule
        number[id(rule)] += 1
    counted: Counter[Rule] = Counter()
    for identity, calls in number.items():
        counted[held[identity]] += calls
    return counted


def prices_used(calls: Sequence[Call], money: Sequence[_Money]) -> tuple[PriceUsed, ...]:
    """The prices that were applied, one row for each distinct one, and what has none with the reason."""
    alike: Counter[tuple[str, str, str, int, str | None]] = Counter()  # rates by identity: their hash is dear
    rates: dict[int, Rates | None] = {}
    for call, item in zip(calls, money, strict=True):
        if item.rates is not None or item.error is not None or (item.cost and item.cost.source != CostSource.LOGGED):
            rates[id(item.rates)] = item.rates
            alike[call.served_model or call.model, call.provider, call.tier, id(item.rates), item.error] += 1
    counted: Counter[tuple[str, str, str, Rates | None, str | None]] = Counter()
    for (model, provider, tier, identity, error), number in alike.items():
        counted[model, provider, tier, rates[identity], error] += number
    rows = [_price_used(*key, number) for key, number in counted.items()]
    return tuple(sorted(rows, key=lambda row: (row.provider, row.model, row.tier, row.source, str(row.input))))


def _price_used(model: str, provider: str, tier: str, rates: Rates | None, error: str | None, calls: int) -> PriceUsed:
    if rates is None:
        return PriceUsed(model, provider, tier, calls, None, None, {}, None, "", error)
    return PriceUsed(
        model=model,
        provider=provider,
        tier=tier,
        calls=calls,
        input=rates.input * PER_MILLION,
        cache_read=rates.cache_read * PER_MILLION,
        cache_writes={write.lifetime: write.rate * PER_MILLION for write in rates.cache_writes},
        output=rates.output * PER_MILLION if rates.output is not None else None,
        source=rates.source,
        error=None,
    )
