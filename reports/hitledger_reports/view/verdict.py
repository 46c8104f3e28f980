"""What broke the cache, and what to change first."""

from msgspec import Struct

from hitledger.causes.catalogue import catalogue
from hitledger.columns import columns
from hitledger.results import Audit
from hitledger_reports import figures
from hitledger_reports.shown import PROSE, shown
from hitledger_reports.view.caveats import UNLISTED
from hitledger_reports.view.groups import Sum, causes

PROVIDERS_OWN = ("server.", "unexplained")
NAMED = 3  # causes that are named; the rest is counted


class BrokenBy(Struct, frozen=True):
    """A cause and what it cost. `note` says how many breaks, and whether the user can do something about it."""

    cause: str
    cost: str
    note: str
    worst: int = 0  # rank of its worst break, from 1


class FirstFix(Struct, frozen=True):
    """The dearest cause that the user can mend, and what mends it."""

    cause: str
    what: str  # the cause in a sentence, "" for a code without an entry in the catalogue
    breaks: str
    cost: str
    fix: str
    worst: int  # rank of its worst break, from 1


class Calm(Struct, frozen=True):
    """What to say where nothing is listed."""

    title: str
    text: str


def broken_by(audit: Audit) -> tuple[BrokenBy, ...]:
    """The dearest causes, whoever can mend them; the last entry counts the causes that are not named."""
    groups = list(causes(audit.breaks).items())
    named = [
        BrokenBy(shown(cause), _cost(group), _note(cause, group), _worst(audit, cause))
        for cause, group in groups[:NAMED]
    ]
    rest = len(groups) - len(named)
    return (*named, *([BrokenBy("", "", figures.plural(rest, "other cause"))] if rest else []))


def first_fix(audit: Audit) -> FirstFix | None:
    """What the provider does by itself comes only where there is no other cause."""
    groups = causes(audit.breaks).items()
    for cause, group in sorted(groups, key=lambda item: item[0].startswith(PROVIDERS_OWN)):
        rank = _worst(audit, cause)
        entry = catalogue().get(cause)
        return FirstFix(
            shown(cause),
            entry.what if entry else "",
            figures.plural(group.breaks, "break"),
            _cost(group),
            shown(audit.breaks[rank - 1].fix, PROSE),
            rank,
        )
    return None


def calm(audit: Audit) -> Calm | None:
    """None where there are breaks. Never says that all is well where nothing could be seen."""
    if audit.breaks:
        return None
    read, ideal, predecessor = columns(audit.calls, "cache_read_tokens", "ideal_cache_read_tokens", "predecessor")
    compared = [found is not None for found, best in zip(read, ideal, strict=True) if best is not None]
    if not audit.calls:
        return Calm("No call", "There is nothing to judge.")
    if not compared and any(found is not None for found in read):
        return Calm("Nothing could be judged", "No cache rule is known for the provider of these calls.")
    if not compared:
        return Calm("Nothing could be judged", "No call says how much of its prompt was read from a cache.")
    if all(before is None for before in predecessor):
        return Calm("Nothing to compare", "No call continues an earlier one.")
    judged = sum(compared)
    if not judged:
        seen = figures.plural(len(compared), "call")
        return Calm(
            "No break seen", f"{seen} could be judged by prompt and time alone: the log does not say what was read."
        )
    whole = "" if judged == len(audit.calls) else f" in the {figures.plural(judged, 'call')} that could be judged"
    if audit.totals.small_breaks:
        return Calm("No break to list", f"Only losses {UNLISTED}{whole}.")
    return Calm("No break found", f"Every prefix that could be read was read{whole}.")


def _worst(audit: Audit, cause: str) -> int:
    """The rank of the worst break of a cause."""
    return next(rank for rank, found in enumerate(audit.breaks, 1) if found.cause == cause)


def _cost(group: Sum) -> str:
    if group.break_cost is not None:
        return figures.usd(group.break_cost, group.loss_certainty)
    return figures.SIGN[group.certainty] + figures.plural(group.rebilled_tokens, "token")


def _note(cause: str, group: Sum) -> str:
    whose = (
        ", no known reason"
        if cause == "unexplained"
        else ", the provider's doing"
        if cause.startswith("server.")
        else ""
    )
    return figures.plural(group.breaks, "break") + whose
