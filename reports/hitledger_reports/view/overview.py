"""The answers of the first ten seconds: what was paid, what the cache should have saved, what to change first."""

from itertools import compress
from typing import TYPE_CHECKING

from msgspec import Struct

from hitledger.columns import NO_MONEY, added, columns, distinct
from hitledger.results import Audit
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.shown import shown
from hitledger_reports.view.caveats import calibration, small_losses, warnings
from hitledger_reports.view.groups import Sum, total
from hitledger_reports.view.ledger import LedgerColumn, Part, beyond_ideal, ledger_columns, ledger_parts
from hitledger_reports.view.measured import measured_sum
from hitledger_reports.view.verdict import BrokenBy, Calm, FirstFix, broken_by, calm, first_fix

if TYPE_CHECKING:
    from hitledger.measurement import Measurement

SOURCES = {
    "logged": "costs in the log",
    "usage x price": "logged usage × price",
    "expected x price": "expected usage × price without the answers",
}


class Figure(Struct, frozen=True):
    """One headline number."""

    label: str
    value: str
    note: str


class Overview(Struct, frozen=True):
    """Everything above the tables."""

    period: str
    scope: str
    figures: tuple[Figure, ...]
    broken_by: tuple[BrokenBy, ...]
    first: FirstFix | None
    calm: Calm | None
    columns: tuple[LedgerColumn, ...]
    parts: tuple[Part, ...]
    beyond_ideal: str
    evidence: tuple[str, ...]
    small: str
    calibration: str
    warnings: tuple[str, ...]


def overview(audit: Audit, measurement: "Measurement | None" = None) -> Overview:
    """Headline of an audit."""
    parts = ledger_parts(audit)
    return Overview(
        period=_period(audit),
        scope=_scope(audit),
        figures=_figures(audit, total(audit)),
        broken_by=broken_by(audit),
        first=first_fix(audit),
        calm=calm(audit),
        columns=ledger_columns(audit, measured_sum(audit, measurement)),
        parts=parts,
        beyond_ideal=beyond_ideal(parts),
        evidence=tuple(
            f"{figures.plural(number, 'call')} {name}"
            for name, number in sorted(audit.totals.evidence.items())
            if number
        ),
        small=small_losses(audit),
        calibration=calibration(audit),
        warnings=warnings(audit),
    )


def lost_share(whole: Sum) -> float | None:
    """Share of the bill lost to breaks."""
    if not whole.cost or whole.break_cost is None:
        return None if whole.breaks or not whole.cost else 0.0
    return float(whole.break_cost / whole.cost)


def _period(audit: Audit) -> str:
    # Times of hash-only traces are relative: they order calls and are no dates.
    started, notes = columns(audit.calls, "started_at", "notes")
    times = [at for at, flags in zip(started, notes, strict=True) if at is not None and "hash_only" not in flags]
    if not times:
        return "no times in the log"
    return f"{figures.utc(min(times), seconds=False)} to {figures.utc(max(times), seconds=False)} UTC"


def _scope(audit: Audit) -> str:
    (project,) = columns(audit.calls, "project")
    projects = set(project) - {""}
    agents = sum(agent != "main" for session in audit.sessions for agent in session.agents)
    parts = [
        figures.plural(len(audit.calls), "call"),
        figures.plural(len(audit.sessions), "session"),
        *([figures.plural(agents, "sub-agent")] if agents else []),
        *([figures.plural(len(projects), "project")] if projects else []),
    ]
    return ", ".join(parts)


def _figures(audit: Audit, whole: Sum) -> tuple[Figure, ...]:
    bill = whole.cost_certainty
    lost = figures.weakest((bill, whole.loss_certainty))
    mended = None if whole.cost is None or whole.loss is None else whole.cost - whole.loss
    return (
        Figure("Paid", figures.usd(whole.cost, bill), _sources(audit)),
        Figure("Lost to breaks", figures.usd(whole.loss, whole.loss_certainty), _lost_note(whole)),
        Figure("With every break mended", figures.usd(mended, lost), "paid − lost to breaks"),
        _saved(audit, bill),
        Figure("Hit rate", figures.share(whole.hit_rate), _hit_note(whole)),
    )


def _saved(audit: Audit, bill: Certainty) -> Figure:
    """Of the calls that say what they read: both sums hold the same calls, so that paid + saved = without."""
    cost, without, read = columns(audit.calls, "cost", "cost_without_cache", "cache_read_tokens")
    both = [
        priced is not None and other is not None and tokens is not None
        for priced, other, tokens in zip(cost, without, read, strict=True)
    ]
    paid, _ = added(list(compress(cost, both)), NO_MONEY)
    uncached, known = added(list(compress(without, both)), NO_MONEY)
    missing = added(cost, NO_MONEY)[1] - known
    partial = f" ({figures.plural(missing, 'call')} without this figure left out)" if known and missing else ""
    note = f"without a cache: {figures.usd(uncached if known else None, bill)}{partial}"
    saved = uncached - paid if known else None
    return Figure("Saved by the cache", figures.usd(saved, bill), note)


def _hit_note(whole: Sum) -> str:
    tokens = whole.reporting_tokens
    return f"of {figures.short(tokens)} input tokens" if tokens else "no call reports reads"


def _lost_note(whole: Sum) -> str:
    if not whole.breaks:
        return "no break" if whole.judged else "not known"
    share = lost_share(whole)
    of_bill = f"{figures.share(share, figures.weakest((whole.cost_certainty, whole.loss_certainty)))} of the bill, "
    return (
        f"the cache should have saved it: {'' if share is None else of_bill}{figures.plural(whole.breaks, 'break')}, "
        f"{figures.short(whole.rebilled_tokens, whole.certainty)} tokens billed again"
    )


def _sources(audit: Audit) -> str:
    (source,) = columns(audit.calls, "cost_source")
    found = sorted(set(filter(None, distinct(source))))
    if not found:
        return "no call has a price"
    both = audit.totals.logged_costs
    ours = f"; usage × price: {figures.usd(both.computed)}" if both is not None and found == ["logged"] else ""
    return "from " + ", ".join(SOURCES.get(one, shown(one)) for one in found) + ours
