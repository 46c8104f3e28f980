"""A session as a row of cells, one a call or a run of calls: how much of each prompt was read, and where it broke."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hitledger.results import CallResult


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A run of calls: the share of their input that was read (None: not reported), and whether one broke."""

    read: float | None
    broke: bool
    calls: int


def heat(calls: Sequence[CallResult], broken: frozenset[str], width: int) -> tuple[HeatCell, ...]:
    """At most `width` cells over the calls in their order; a cell with a break in it says so."""
    if not calls:
        return ()
    cells = min(width, len(calls))
    edges = [number * len(calls) // cells for number in range(cells + 1)]
    return tuple(_cell(calls[start:end], broken) for start, end in pairwise(edges))


def _cell(calls: Sequence[CallResult], broken: frozenset[str]) -> HeatCell:
    known = [call for call in calls if call.input_tokens and call.cache_read_tokens is not None]
    tokens = sum(call.input_tokens or 0 for call in known)
    read = sum(call.cache_read_tokens or 0 for call in known)
    return HeatCell(read / tokens if tokens else None, any(call.id in broken for call in calls), len(calls))
