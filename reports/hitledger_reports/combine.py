"""Several audits joined into one, and an audit cut to a span of time."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from msgspec.json import encode
from msgspec.structs import replace

from hitledger.errors import UsageError
from hitledger.results import Audit, Break, CallResult, IngestResult, PriceUsed, RuleUsed, Totals
from hitledger.sums import by_session
from hitledger.totals import sessions_of, totals_of


def join(audits: Sequence[Audit]) -> Audit:
    """All calls of all audits. A call that an earlier audit already holds counts once; indices go on counting."""
    if len(audits) == 1:
        return audits[0]
    joined = audits[0]
    for audit in audits[1:]:
        joined = _join(joined, audit)
    return joined


def _join(first: Audit, second: Audit) -> Audit:
    known = {call.id for call in first.calls}
    start = 1 + max((call.index for call in first.calls), default=-1)
    calls = (*first.calls, *(_moved(call, start) for call in second.calls if call.id not in known))
    breaks = sorted(
        (*first.breaks, *(replace(b, index=b.index + start) for b in second.breaks if b.call not in known)),
        key=lambda found: (-(found.cost or 0), -found.rebilled_tokens, found.index),
    )
    findings = (*first.findings, *(replace(f, index=f.index + start) for f in second.findings if f.call not in known))
    return replace(
        first,
        ingest=IngestResult(
            (*first.ingest.files, *second.ingest.files),
            (*first.ingest.skips, *second.ingest.skips),
            (*first.ingest.refused, *second.ingest.refused),
        ),
        totals=_totals(calls, breaks, (first.totals, second.totals)),
        sessions=sessions_of(by_session(calls), breaks),
        calls=calls,
        breaks=tuple(breaks),
        findings=findings,
        rules=_rules((*first.rules, *second.rules)),
        prices=_prices((*first.prices, *second.prices)),
    )


def _totals(calls: Sequence[CallResult], breaks: Sequence[Break], audited: Sequence[Totals]) -> Totals:
    """New sums; losses below the limit are not listed in an audit, so their count is that of the audits."""
    return replace(
        totals_of(by_session(calls), breaks, ()),
        small_breaks=sum(totals.small_breaks for totals in audited),
        small_lost_tokens=sum(totals.small_lost_tokens for totals in audited),
    )


def _moved(call: CallResult, start: int) -> CallResult:
    return replace(call, index=call.index + start)


def _rules(rules: Sequence[RuleUsed]) -> tuple[RuleUsed, ...]:
    merged: dict[str, RuleUsed] = {}
    for rule in rules:
        earlier = merged.get(rule.id)
        merged[rule.id] = rule if earlier is None else replace(earlier, calls=earlier.calls + rule.calls)
    return tuple(merged.values())


def _prices(prices: Sequence[PriceUsed]) -> tuple[PriceUsed, ...]:
    """Rows that differ in anything but their calls and notes stay apart."""
    merged: dict[bytes, PriceUsed] = {}
    for price in prices:
        key = encode(replace(price, calls=0, notes=()))
        one = merged.get(key)
        both = price.notes if one is None else tuple(sorted({*one.notes, *price.notes}))
        merged[key] = replace(price, calls=price.calls + (one.calls if one is not None else 0), notes=both)
    return tuple(merged.values())


def instant(text: str, option: str) -> datetime:
    """`2026-01-31` (its first moment) or an ISO time; without a zone it is UTC. Raises UsageError naming the option."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: give a day (2026-01-31) or an ISO time (2026-01-31T12:00:00Z)") from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def until(text: str) -> datetime:
    """The end of a span: a day is meant as a whole."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC) + timedelta(days=1)
    except ValueError:
        return instant(text, "--until")


def between(audit: Audit, start: datetime | None, end: datetime | None) -> Audit:
    """The calls that started from `start` on and before `end`; a call without a time is left out."""
    if start is None and end is None:
        return audit
    calls = tuple(call for call in audit.calls if _within(call.started_at, start, end))
    kept = {call.id for call in calls}
    breaks = tuple(found for found in audit.breaks if found.call in kept)
    return replace(
        audit,
        totals=_totals(calls, breaks, (audit.totals,)),
        sessions=sessions_of(by_session(calls), breaks),
        calls=calls,
        breaks=breaks,
        findings=tuple(found for found in audit.findings if found.call in kept),
    )


def _within(at: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    return at is not None and (start is None or at >= start) and (end is None or at < end)
