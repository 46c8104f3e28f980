"""Fields of many rows as columns: what is summed then is a plain sequence, at the speed of C."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any


def columns(rows: Sequence[object], *names: str) -> list[list[Any]]:
    """One list a field, in the order of the names."""
    return [list(map(attrgetter(name), rows)) for name in names]


def tokens(column: Iterable[int | None]) -> int:
    """The sum of the known figures."""
    return sum(filter(None, column))


def money(column: Sequence[Decimal | None]) -> Decimal | None:
    """The sum of the known figures; None where none is known."""
    known = [figure for figure in column if figure is not None]
    return sum(known, Decimal(0)) if known else None


def where_known(column: Sequence[int | None], other: Sequence[int | None]) -> int:
    """The sum of a column over the rows in which the other one is known."""
    if None not in other:
        return tokens(column)
    return tokens(value for value, known in zip(column, other, strict=True) if known is not None)
