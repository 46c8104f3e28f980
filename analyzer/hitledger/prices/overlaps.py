"""Rows of one prices file that say two things of the same call."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import combinations
from typing import TypeVar

from hitledger.prices.rows import AliasRow, ModifierRow, PriceFile, PriceRow, Scope, StorageRow, WindowRow, WriteRow

Row = TypeVar("Row", PriceRow, ModifierRow, WriteRow, WindowRow, StorageRow, AliasRow)


def overlaps(file: PriceFile) -> Iterator[tuple[Scope, Scope]]:
    """Pairs of rows of one table, the earlier first, that hold for the same model at the same time and differ."""
    yield from _pairs(file.prices, _price_the_same)
    yield from _pairs(file.modifiers, lambda row, other: row.tier == other.tier)
    yield from _pairs(file.writes, lambda row, other: row.lifetime == other.lifetime)
    yield from _pairs(file.windows, _open_at_once)
    yield from _pairs(file.storage, lambda row, other: True)
    yield from _pairs(file.aliases, lambda row, other: True)


def _pairs(rows: Sequence[Row], clash: Callable[[Row, Row], bool]) -> Iterator[tuple[Scope, Scope]]:
    for row, other in combinations(rows, 2):
        if clash(row, other) and _share_a_call(row.scope, other.scope):
            yield row.scope, other.scope


def _price_the_same(row: PriceRow, other: PriceRow) -> bool:
    same = row.tier == other.tier and row.above == other.above
    return same and not {name for name, _ in row.rates}.isdisjoint(name for name, _ in other.rates)


def _open_at_once(row: WindowRow, other: WindowRow) -> bool:
    hours = any(max(one[0], two[0]) < min(one[1], two[1]) for one in row.hours for two in other.hours)
    return hours and not set(row.days).isdisjoint(other.days)


def _share_a_call(one: Scope, two: Scope) -> bool:
    starts = max(one.valid_from or date.min, two.valid_from or date.min)
    return (
        starts < min(one.valid_to or date.max, two.valid_to or date.max)
        and not set(one.providers).isdisjoint(two.providers)
        and any(globs_meet(mine, theirs) for mine in one.models for theirs in two.models)
    )


@lru_cache(maxsize=4096)
def globs_meet(one: str, two: str) -> bool:
    """Whether some name fits both patterns. Patterns with [ ] are only seen to meet where one fits the other."""
    if fnmatchcase(one, two) or fnmatchcase(two, one):
        return True
    if "[" in one + two:
        return False
    seen: set[tuple[int, int]] = set()
    places = [(0, 0)]  # how much of each pattern a common beginning of names has used
    while places:
        place = places.pop()
        if place == (len(one), len(two)):
            return True
        if place not in seen:
            seen.add(place)
            places += _steps(one, two, *place)
    return False


def _steps(one: str, two: str, i: int, j: int) -> Iterator[tuple[int, int]]:
    """The places from which the rest can go on: a star takes nothing, or what the other pattern wants next."""
    mine, theirs = one[i : i + 1], two[j : j + 1]
    if mine == "*":
        yield i + 1, j
    if theirs == "*":
        yield i, j + 1
    if not mine or not theirs:
        return
    if mine == "*":
        yield i, j + 1
    elif theirs == "*":
        yield i + 1, j
    elif mine == theirs or "?" in (mine, theirs):
        yield i + 1, j + 1
