"""What an audit rests on: files read, rules and prices applied, each with where it comes from."""

from collections import Counter
from collections.abc import Sequence

from hitledger.columns import columns
from hitledger.expect import Expectation
from hitledger.logs.ingest import Ingest
from hitledger.money import CallMoney
from hitledger.policies.rule import Rule
from hitledger.prices import Rates
from hitledger.results import FileIngest, IngestResult, PriceUsed, RuleUsed, SkippedRow
from hitledger.types import Call

PER_MILLION = 1_000_000


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
    counted = _counted([expectation.rule for expectation in expectations if expectation is not None])
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


def _counted(rules: Sequence[Rule]) -> Counter[Rule]:
    """How often each rule comes. Most are the same object: only different ones are compared field by field."""
    held = {id(rule): rule for rule in rules}
    counted: Counter[Rule] = Counter()
    for identity, calls in Counter(map(id, rules)).items():
        counted[held[identity]] += calls
    return counted


def prices_used(calls: Sequence[Call], money: Sequence[CallMoney]) -> tuple[PriceUsed, ...]:
    """The prices that were applied, one row for each distinct one, and what has none with the reason."""
    applied = [item.rates for item in money]
    rates = {id(known): known for known in applied}  # by identity: their hash is dear
    notes: dict[int, dict[str, None]] = {}
    for item in money:
        if item.cost is not None and item.cost.notes:
            notes.setdefault(id(item.rates), {}).update(dict.fromkeys(item.cost.notes))
    models = [call.served_model or call.model for call in calls]
    asked = zip(models, *columns(calls, "provider", "tier"), map(id, applied), *columns(money, "error"), strict=True)
    alike = Counter(asked)
    counted: Counter[tuple[str, str, str, Rates | None, str | None]] = Counter()
    said: dict[tuple[str, str, str, Rates | None, str | None], dict[str, None]] = {}
    for (model, provider, tier, identity, error), number in alike.items():
        if rates[identity] is None and error is None:  # there was nothing to price
            continue
        key = (model, provider, tier, rates[identity], error)
        counted[key] += number
        said.setdefault(key, {}).update(notes.get(identity, {}))
    rows = [_price_used(*key, number, tuple(sorted(said[key]))) for key, number in counted.items()]
    return tuple(sorted(rows, key=lambda row: (row.provider, row.model, row.tier, row.source, str(row.input))))


def _price_used(
    model: str,
    provider: str,
    tier: str,
    rates: Rates | None,
    error: str | None,
    calls: int,
    notes: tuple[str, ...],
) -> PriceUsed:
    if rates is None:
        return PriceUsed(model, provider, tier, calls, None, None, {}, None, "", error, notes)
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
        notes=notes,
    )
