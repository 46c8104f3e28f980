"""Rows by columns: what is summed then is a plain sequence, at the speed of C."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any, TypeVar, cast

Figure = TypeVar("Figure", int, Decimal)
Row = TypeVar("Row")
NO_MONEY = Decimal(0)


class Table(Sequence[Row]):
    """Rows that are made when somebody looks at one, and columns that are made when somebody asks for them."""

    @abstractmethod
    def column(self, name: str) -> Sequence[Any]:
        """One field of each row."""

    @abstractmethod
    def part(self, indices: Sequence[int]) -> "Table[Row]":
        """Some of the rows, by ascending indices."""


def columns(rows: Sequence[object], *names: str) -> list[Sequence[Any]]:
    """One sequence a field, in the order of the names."""
    if isinstance(rows, Table):
        return [rows.column(name) for name in names]
    return [list(map(attrgetter(name), rows)) for name in names]


def part(rows: Sequence[Row], indices: Sequence[int]) -> Sequence[Row]:
    """Some of the rows, by ascending indices."""
    return rows.part(indices) if isinstance(rows, Table) else taken(rows, indices)


def distinct(column: Sequence[Row]) -> tuple[Row, ...]:
    """The values without those that come again as the same object: of most columns of words few are left.

    By identity: members of enumerations and tuples are hashed slowly, and some values cannot be.
    """
    return tuple(dict(zip(map(id, column), column, strict=True)).values())


def taken(column: Sequence[Row], indices: Sequence[int]) -> Sequence[Row]:
    """Some of the values, by ascending indices: most often a session's, which follow each other."""
    if indices and indices[-1] - indices[0] < len(indices):
        return column[indices[0] : indices[-1] + 1]
    return [column[index] for index in indices]


def groups(keys: Sequence[str]) -> dict[str, list[int]]:
    """Indices by key, in the order in which the keys first come."""
    found: dict[str, list[int]] = {}
    for index, key in enumerate(keys):
        found.setdefault(key, []).append(index)
    return found


def grouped(rows: Sequence[Row], keys: Sequence[str]) -> Iterator[tuple[str, Sequence[Row]]]:
    """Rows by key, in the order in which the keys first come; `keys` has one for each row. One part after the other."""
    return ((key, part(rows, indices)) for key, indices in groups(keys).items())


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
