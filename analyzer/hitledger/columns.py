"""Fields of many rows as columns: what is summed then is a plain sequence, at the speed of C."""

from collections.abc import Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any, TypeVar, cast

Figure = TypeVar("Figure", int, Decimal)
NO_MONEY = Decimal(0)


def columns(rows: Sequence[object], *names: str) -> list[list[Any]]:
    """One list a field, in the order of the names."""
    return [list(map(attrgetter(name), rows)) for name in names]


def added(column: Sequence[Figure | None], zero: Figure) -> tuple[Figure, int]:
    """The sum of the known figures, and how many are known."""
    try:
        return sum(cast(Sequence[Figure], column), zero), len(column)  # nearly always all are known
    except TypeError:
        known = [figure for figure in column if figure is not None]
        return sum(known, zero), len(known)


def tokens(column: Sequence[int | None]) -> int:
    """The sum of the known figures."""
    return added(column, 0)[0]


def money(column: Sequence[Decimal | None]) -> Decimal | None:
    """The sum of the known figures; None where none is known."""
    total, known = added(column, NO_MONEY)
    return total if known else None


def where_known(column: Sequence[int | None], other: Sequence[int | None]) -> int:
    """The sum of a column over the rows in which the other one is known."""
    if added(other, 0)[1] == len(other):
        return tokens(column)
    return tokens([value for value, known in zip(column, other, strict=True) if known is not None])


def missing(column: Sequence[Decimal | None], other: Sequence[int | None]) -> int:
    """In how many rows the figure is not known and the other one is."""
    return sum([value is None and known is not None for value, known in zip(column, other, strict=True)])
