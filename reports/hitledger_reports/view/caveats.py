"""What the figures leave out, in sentences: nothing is lost silently."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from hitledger.columns import columns
from hitledger.results import Audit
from hitledger_reports import figures
from hitledger_reports.shown import PROSE, shown

UNJUDGED = (
    ("provider_unknown", "of an unknown provider: no rule, no price."),
    ("model_unknown", "of an unknown model: no price."),
    ("time_unknown", "without a time: judged by the newest rule, no price."),
    ("in_two_formats", "that another format of these logs holds too: counted twice. Audit one of the two."),
    ("no_rule", "of a provider, model or day for which no rule is known: nothing is expected of them."),
)
COST_DIFFERS = Decimal("0.05")
UNLISTED = "below the limit, or missed where the provider promises no read"
MODELS_NAMED = 3
PRICE_ERRORS = 3  # so many are named; more are counted by reason


def warnings(audit: Audit) -> tuple[str, ...]:
    """One line a reason why a figure is smaller than the log, or an estimate."""
    money = (*_costs(audit), *_prices(audit), *_taken_for_granted(audit))
    return (*_cut(audit), *_uncounted(audit), *money, *_unjudged(audit), *_unread(audit))


def _cut(audit: Audit) -> Iterator[str]:
    read = sum(file.calls for file in audit.ingest.files)
    if read > len(audit.calls):
        yield (
            f"This report covers {len(audit.calls):,} of the {figures.plural(read, 'call')} that were read: the others "
            "lie outside the span asked for, have no time, or stand in two audits. What was read, the rules, the "
            "prices and the losses below the limit are those of all."
        )


def _uncounted(audit: Audit) -> Iterator[str]:
    for number, what in (
        (audit.totals.calls_without_usage, "without usage: in no figure of tokens."),
        (audit.totals.calls_without_price, "without price: in no figure of money."),
    ):
        if number:
            yield f"{figures.plural(number, 'call')} {what}"


def _costs(audit: Audit) -> Iterator[str]:
    """Where the costs in the log are not taken, or are not what usage and price say."""
    both = audit.totals.logged_costs
    if both is None:
        return
    beside = f"the log says {figures.usd(both.logged)}, usage × price {figures.usd(both.computed)}"
    for what, number in both.not_taken.items():
        yield f"{figures.plural(number, 'cost')} in the log without {what}: not taken; {beside}."
    if not both.not_taken and abs(both.logged - both.computed) > COST_DIFFERS * both.computed:
        yield f"Costs in the log are not what the list price says: of {figures.plural(both.calls, 'call')} {beside}."


def _prices(audit: Audit) -> Iterator[str]:
    errors = [price.error for price in audit.prices if price.error]
    if len(errors) <= PRICE_ERRORS:
        yield from (shown(error, PROSE) for error in errors)
        return
    reasons = Counter(shown(error.rpartition(": ")[2], PROSE) for error in errors)
    words = ", ".join(f"{reason} ({number:,})" for reason, number in sorted(reasons.items(), key=_most_first))
    yield f"{len(errors):,} models, each named under “Prices used”, have no price: {words}."


def _taken_for_granted(audit: Audit) -> Iterator[str]:
    models: dict[str, set[str]] = {}
    for price in audit.prices:
        for note in price.notes:
            models.setdefault(note, set()).add(price.model)
    for note, names in sorted(models.items()):
        first = ", ".join(shown(name) or "a call without a model" for name in sorted(names)[:MODELS_NAMED])
        rest = len(names) - MODELS_NAMED
        more = f" and {figures.plural(rest, 'other model')}" if rest > 0 else ""
        yield f"Costs of {first}{more} are estimates: {shown(note, PROSE)}."


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _unjudged(audit: Audit) -> Iterator[str]:
    notes = Counter(*columns(audit.calls, "notes"))
    for flag, what in UNJUDGED:
        number = sum(calls for flags, calls in notes.items() if flag in flags)
        if number:
            yield f"{figures.plural(number, 'call')} {what}"


def _unread(audit: Audit) -> Iterator[str]:
    skipped = sum(file.skipped for file in audit.ingest.files)
    if skipped:
        reason = "with its reason" if skipped == 1 else "each with its reason"
        yield f"{figures.plural(skipped, 'row')} skipped, {reason} under “What was not read”."
    if audit.ingest.refused:
        refused = figures.plural(len(audit.ingest.refused), "file")
        yield f"{refused} not read at all, with the reason under “What was not read”."


def small_losses(audit: Audit) -> str:
    """Losses that are no listed break, in a sentence; "" where there is none."""
    if not audit.totals.small_breaks:
        return ""
    return (
        f"{figures.plural(audit.totals.small_breaks, 'loss', 'losses')} not listed "
        f"({figures.plural(audit.totals.small_lost_tokens, 'token')} together): {UNLISTED}."
    )


def calibration(audit: Audit) -> str:
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
