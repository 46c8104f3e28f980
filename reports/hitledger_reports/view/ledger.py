"""The four columns of the ledger, and where the difference between what could and what was read went."""

from collections.abc import Mapping, Sequence
from itertools import compress

from msgspec import Struct

from hitledger.columns import added, columns, distinct
from hitledger.results import Audit
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.view.groups import least_sure
from hitledger_reports.view.measured import MeasuredSum
from hitledger_reports.view.paths import rectangles, scaled

COLUMNS = (
    ("Ideal", "ideal_cache_read_tokens", "would have been read, had nothing in front changed, moved or expired"),
    ("Expected", "expected_cache_read_tokens", "readable by the provider's published rules, for the prompts as sent"),
    ("Reported", "cache_read_tokens", "read, says the provider in the log"),
)
PARTS = (
    ("client", "Changed in the request", "content, parameters, model, route or marks"),
    ("expired", "Expired", "idle longer than the lifetime"),
    ("below_minimum", "Below the minimum", "the prefix was too short to be cached"),
    ("beyond_lookback", "Beyond the look-back", "the entry lay further back than the provider looks"),
    ("server", "Server side", "documented rewriting by the provider, parallel cold starts"),
    ("unexplained", "Unexplained", "readable by the rule, yet not read: routing, eviction, or a fault in our rule"),
)

BEYOND = "Read beyond ideal"


class LedgerColumn(Struct, frozen=True):
    """One of the four columns: tokens read from the cache according to one source."""

    name: str
    tokens: str
    share: str  # of the input of the calls that have the figure
    path: str  # the share as a bar, SVG path data
    meaning: str


class Part(Struct, frozen=True):
    """A part of ideal − reported."""

    name: str
    tokens: str
    value: int
    meaning: str


class Whole(Struct, frozen=True):
    """The prompts of all calls."""

    column: Sequence[int | None]
    tokens: int
    known: int  # calls whose prompt's length is known
    certainties: Sequence[Mapping[str, Certainty]]  # each that comes, once


def ledger_columns(audit: Audit, measured: MeasuredSum | None) -> tuple[LedgerColumn, ...]:
    """Ideal, expected, reported, measured. A call without a figure is in no column's share, and is counted."""
    total, certainties, *found = columns(audit.calls, "input_tokens", "certainty", *(field for _, field, _ in COLUMNS))
    whole = Whole(total, *added(total, 0), distinct(certainties))
    logged = tuple(_logged(tokens, whole, certainties, *column) for tokens, column in zip(found, COLUMNS, strict=True))
    if measured is None:
        meaning = "reused by a real engine; this audit was not replayed"
        return (*logged, _column("Measured", None, 0, Certainty.EXACT, meaning))
    last = _column("Measured", measured.tokens, measured.prompt_tokens, measured.certainty, measured.meaning)
    return (*logged, last)


def _logged(
    tokens: Sequence[int | None],
    whole: Whole,
    certainties: Sequence[Mapping[str, Certainty]],
    name: str,
    field: str,
    meaning: str,
) -> LedgerColumn:
    read, known = added(tokens, 0)
    total, counted, alike = whole.tokens, whole.known, whole.certainties
    if known < len(tokens) or counted < len(tokens):
        both = [here is not None and there is not None for here, there in zip(tokens, whole.column, strict=True)]
        read, known = added(list(compress(tokens, both)), 0)
        total, _ = added(list(compress(whole.column, both)), 0)
        alike = distinct(list(compress(certainties, both)))
    missing = counted - known
    partial = f" ({figures.plural(missing, 'call')} without this figure left out)" if missing else ""
    return _column(name, read if known else None, total, least_sure(alike, field), meaning + partial)


def _column(name: str, tokens: int | None, whole: int, certainty: Certainty, meaning: str) -> LedgerColumn:
    part = None if tokens is None or not whole else tokens / whole
    bar = rectangles([(0, scaled(part or 0, 1))], 0, 10)
    return LedgerColumn(name, figures.count(tokens, certainty), figures.share(part, certainty), bar, meaning)


def ledger_parts(audit: Audit) -> tuple[Part, ...]:
    """The parts of ideal − reported, of all calls that have both; they add up to it."""
    names = ("attribution", "ideal_cache_read_tokens", "cache_read_tokens", "certainty")
    attributed, ideal, read, certainties = columns(audit.calls, *names)
    known = [attribution is not None for attribution in attributed]
    certainty = least_sure(distinct(list(compress(certainties, known))), "ideal_cache_read_tokens")
    gaps = [
        (best or 0) - (found or 0) for best, found in zip(compress(ideal, known), compress(read, known), strict=True)
    ]
    missed = [attribution for attribution, gap in zip(compress(attributed, known), gaps, strict=True) if gap > 0]
    rows = [
        (label, sum(part), meaning)
        for part, (_, label, meaning) in zip(columns(missed, *(name for name, _, _ in PARTS)), PARTS, strict=True)
    ]
    beyond = sum([gap for gap in gaps if gap < 0])
    rows.append((BEYOND, beyond, "entries that calls outside the log had left"))
    return tuple(
        Part(label, f"{figures.count(value, certainty)} tokens", value, meaning)
        for label, value, meaning in rows
        if value
    )


def beyond_ideal(parts: Sequence[Part]) -> str:
    """Why more was read than ideal, in a sentence; "" where it was not."""
    beyond = next((part for part in parts if part.name == BEYOND), None)
    if beyond is None or sum(part.value for part in parts) >= 0:
        return ""
    return f"More was read than ideal: {beyond.tokens.lstrip('−')} of {beyond.meaning}."
