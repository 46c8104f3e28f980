"""A session as a row of cells, one a call or a run of calls: how much of each prompt was read, and where it broke."""

from collections.abc import Container, Sequence
from itertools import pairwise

from msgspec import Struct

from hitledger.results import CallResult
from hitledger_reports.view.paths import columns

CELL = 10
TOP, BOTTOM = 5, 20


class HeatCell(Struct, frozen=True):
    """A run of calls: the share of their input that was read (None: not reported), and whether one broke."""

    read: float | None
    broke: bool
    calls: int


def heat(calls: Sequence[CallResult], broken: Container[str], width: int) -> tuple[HeatCell, ...]:
    """At most `width` cells over the calls in their order; a cell with a break in it says so."""
    if not calls:
        return ()
    cells = min(width, len(calls))
    edges = [number * len(calls) // cells for number in range(cells + 1)]
    return tuple(_cell(calls[start:end], broken) for start, end in pairwise(edges))


def _cell(calls: Sequence[CallResult], broken: Container[str]) -> HeatCell:
    known = [call for call in calls if call.input_tokens and call.cache_read_tokens is not None]
    tokens = sum(call.input_tokens or 0 for call in known)
    read = sum(call.cache_read_tokens or 0 for call in known)
    return HeatCell(read / tokens if tokens else None, any(call.id in broken for call in calls), len(calls))


class HeatStrip(Struct, frozen=True):
    """The cells as SVG path data, `width` units wide and 20 high: read from below, the rest above it, marks on top."""

    width: int
    read: str
    unread: str
    marks: str


def heat_strip(cells: Sequence[HeatCell]) -> HeatStrip:
    """Cells with nothing reported stay empty."""
    height = BOTTOM - TOP
    known = [(n * CELL, BOTTOM - round(cell.read * height)) for n, cell in enumerate(cells) if cell.read is not None]
    return HeatStrip(
        width=max(len(cells), 1) * CELL,
        read=columns((left, left + CELL, top, BOTTOM) for left, top in known if top < BOTTOM),
        unread=columns((left, left + CELL, TOP, top) for left, top in known if top > TOP),
        marks=columns((n * CELL, (n + 1) * CELL, 0, TOP - 1) for n, cell in enumerate(cells) if cell.broke),
    )
