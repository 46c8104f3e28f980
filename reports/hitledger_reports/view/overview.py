"""The answers of the first ten seconds: what was paid, what the cache should have saved, what to change first."""

from dataclasses import dataclass
from decimal import Decimal

from hitledger.measurement import Measurement
from hitledger.results import Audit
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.shown import PROSE, shown
from hitledger_reports.view.groups import Sum, causes, sure, total
from hitledger_reports.view.measured import MeasuredSum, measured_sum
from hitledger_reports.view.paths import rectangles, scaled

UNJUDGED = (
    ("provider_unknown", "of an unknown provider: no rule, no price."),
    ("model_unknown", "of an unknown model: no price."),
    ("time_unknown", "without a time: judged by the newest rule, no price."),
    ("no_rule", "of a provider, model or day for which no rule is known: nothing is expected of them."),
)
PROVIDERS_OWN = ("server.", "unexplained")


@dataclass(frozen=True, slots=True)
class Figure:
    """One headline number."""

    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class LedgerColumn:
    """One of the four columns: tokens read from the cache according to one source."""

    name: str
    tokens: str
    share: str  # of the input
    path: str  # the share as a bar, SVG path data
    meaning: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of ideal − reported."""

    name: str
    tokens: str
    value: int
    meaning: str


@dataclass(frozen=True, slots=True)
class FirstFix:
    """The cause that cost most, and what mends it."""

    cause: str
    breaks: str
    cost: str
    fix: str
    worst: int  # rank of its worst break, from 1


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything above the tables."""

    period: str
    scope: str
    figures: tuple[Figure, ...]
    columns: tuple[LedgerColumn, ...]
    parts: tuple[Part, ...]
    first: FirstFix | None
    evidence: tuple[str, ...]
    small: str
    calibration: str
    warnings: tuple[str, ...]


def overview(audit: Audit, measurement: Measurement | None = None) -> Overview:
    """Headline of an audit."""
    whole = total(audit)
    return Overview(
        period=_period(audit),
        scope=_scope(audit),
        figures=_figures(audit, whole),
        columns=_columns(audit, whole, measured_sum(audit, measurement)),
        parts=_parts(audit),
        first=_first(audit),
        evidence=tuple(
            f"{figures.plural(number, 'call')} {name}"
            for name, number in sorted(audit.totals.evidence.items())
            if number
        ),
        small=_small(audit),
        calibration=_calibration(audit),
        warnings=_warnings(audit),
    )


def lost_share(whole: Sum) -> float | None:
    """Share of the bill lost to breaks."""
    if not whole.cost or whole.break_cost is None:
        return None if whole.breaks or not whole.cost else 0.0
    return float(whole.break_cost / whole.cost)


def _period(audit: Audit) -> str:
    times = [call.started_at for call in audit.calls if call.started_at is not None]
    if not times:
        return "no times in the log"
    return f"{figures.utc(min(times), seconds=False)} to {figures.utc(max(times), seconds=False)} UTC"


def _scope(audit: Audit) -> str:
    projects = sorted({call.project for call in audit.calls if call.project})
    agents = len({(call.session, call.agent) for call in audit.calls if call.agent != "main"})
    parts = [
        figures.plural(len(audit.calls), "call"),
        figures.plural(len(audit.sessions), "session"),
        *([figures.plural(agents, "sub-agent")] if agents else []),
        *([figures.plural(len(projects), "project")] if projects else []),
    ]
    return ", ".join(parts)


def _figures(audit: Audit, whole: Sum) -> tuple[Figure, ...]:
    bill = whole.cost_certainty
    lost = figures.weakest((bill, whole.certainty))
    mended = None if whole.cost is None else whole.cost - (whole.break_cost or Decimal(0))
    without = audit.totals.cost_without_cache
    saved = None if without is None or whole.cost is None else without - whole.cost
    return (
        Figure("Paid", figures.usd(whole.cost, bill), _sources(audit)),
        Figure(
            "Lost to breaks",
            figures.usd(whole.break_cost if whole.breaks else Decimal(0), whole.certainty),
            f"{figures.share(lost_share(whole), lost)} of the bill, {figures.plural(whole.breaks, 'break')}, "
            f"{figures.short(whole.rebilled_tokens, whole.certainty)} tokens billed again",
        ),
        Figure("With every break mended", figures.usd(mended, lost), "paid − lost to breaks"),
        Figure("Saved by the cache", figures.usd(saved, bill), f"without a cache {figures.usd(without, bill)}"),
        Figure("Hit rate", figures.share(whole.hit_rate), f"of {figures.short(whole.input_tokens)} input tokens"),
    )


def _sources(audit: Audit) -> str:
    found = sorted({call.cost_source.replace(" x ", " × ") for call in audit.calls if call.cost_source})
    return "from " + " and ".join(found) if found else "no call has a price"


def _columns(audit: Audit, whole: Sum, measured: MeasuredSum | None) -> tuple[LedgerColumn, ...]:
    counted = [call for call in audit.calls if call.input_tokens is not None]
    columns: list[LedgerColumn] = []
    for name, field, meaning in (
        ("Ideal", "ideal_cache_read_tokens", "had nothing in front changed, moved or expired"),
        ("Expected", "expected_cache_read_tokens", "by the provider's published rules, for the prompts as sent"),
        ("Reported", "cache_read_tokens", "by the provider, in the log"),
    ):
        known = [call for call in counted if getattr(call, field) is not None]
        certainty = figures.weakest(sure(call, field) for call in known)
        partial = f" ({figures.plural(len(counted) - len(known), 'call')} without)" if len(known) < len(counted) else ""
        tokens = sum(getattr(call, field) for call in known) if known else None
        columns.append(_column(name, tokens, whole.input_tokens, certainty, meaning + partial))
    if measured is None:
        meaning = "on a real engine; this audit was not replayed"
        return (*columns, _column("Measured", None, 0, Certainty.EXACT, meaning))
    last = _column("Measured", measured.tokens, measured.prompt_tokens, measured.certainty, measured.meaning)
    return (*columns, last)


def _column(name: str, tokens: int | None, whole: int, certainty: Certainty, meaning: str) -> LedgerColumn:
    part = None if tokens is None or not whole else tokens / whole
    return LedgerColumn(name, figures.count(tokens, certainty), figures.share(part, certainty), _bar(part), meaning)


def _bar(part: float | None) -> str:
    return rectangles([(0, scaled(part or 0, 1))], 0, 10)


PARTS = (
    ("client", "Yours to mend", "content, parameters, model, route or marks changed"),
    ("expired", "Expired", "idle longer than the lifetime"),
    ("below_minimum", "Below the minimum", "the prefix was too short to be cached"),
    ("beyond_lookback", "Beyond the look-back", "the entry lay further back than the provider looks"),
    ("server", "Server side", "documented rewriting by the provider, parallel cold starts"),
    ("unexplained", "Unexplained", "readable by the rule, yet not read: routing, eviction, or a fault in our rule"),
)


def _parts(audit: Audit) -> tuple[Part, ...]:
    known = [call.attribution for call in audit.calls if call.attribution is not None]
    certainty = figures.weakest(
        sure(call, "ideal_cache_read_tokens") for call in audit.calls if call.attribution is not None
    )
    rows = ((label, sum(getattr(one, name) for one in known), meaning) for name, label, meaning in PARTS)
    return tuple(
        Part(label, figures.count(value, certainty), value, meaning) for label, value, meaning in rows if value
    )


def _first(audit: Audit) -> FirstFix | None:
    """The dearest cause that the user can mend; what the provider does by itself only where there is no other."""
    groups = causes(audit.breaks).items()
    for cause, group in sorted(groups, key=lambda item: item[0].startswith(PROVIDERS_OWN)):
        rank, worst = next((rank, found) for rank, found in enumerate(audit.breaks, 1) if found.cause == cause)
        cost = figures.usd(group.break_cost, group.certainty)
        tokens = figures.plural(group.rebilled_tokens, "token")
        return FirstFix(
            shown(cause),
            figures.plural(group.breaks, "break"),
            cost if group.break_cost is not None else f"{figures.SIGN[group.certainty]}{tokens}",
            shown(worst.fix, PROSE),
            rank,
        )
    return None


def _small(audit: Audit) -> str:
    if not audit.totals.small_breaks:
        return ""
    return (
        f"{figures.plural(audit.totals.small_breaks, 'smaller loss', 'smaller losses')} below the limit "
        f"({figures.plural(audit.totals.small_lost_tokens, 'token')} together) not listed."
    )


def _calibration(audit: Audit) -> str:
    """How far the rules can be trusted on this log."""
    found = audit.totals.calibration
    if found is None:
        return ""
    left_out = f"; {figures.plural(found.warmed, 'call')} warmed by an unlogged one left out" if found.warmed else ""
    return (
        f"Rule against log, {figures.plural(found.calls, 'call')}: expected read exact on {found.exact:,}, within a "
        f"block of 128 tokens on {found.within_block:,}, within 1 % of the prompt on {found.within_1_percent:,}; "
        f"token-weighted error {found.token_weighted_error:.2%}{left_out}."
    )


def _warnings(audit: Audit) -> tuple[str, ...]:
    lines: list[str] = []
    if audit.totals.calls_without_usage:
        lines.append(
            f"{figures.plural(audit.totals.calls_without_usage, 'call')} without usage: in no figure of tokens."
        )
    if audit.totals.calls_without_price:
        lines.append(
            f"{figures.plural(audit.totals.calls_without_price, 'call')} without price: in no figure of money."
        )
    lines += [shown(price.error, PROSE) for price in audit.prices if price.error]
    for flag, what in UNJUDGED:
        number = sum(flag in call.notes for call in audit.calls)
        if number:
            lines.append(f"{figures.plural(number, 'call')} {what}")
    skipped = sum(file.skipped for file in audit.ingest.files)
    if skipped:
        lines.append(f"{figures.plural(skipped, 'row')} skipped, each with its reason under “What was not read”.")
    if audit.ingest.refused:
        lines.append(f"{figures.plural(len(audit.ingest.refused), 'file')} refused.")
    return tuple(lines)
