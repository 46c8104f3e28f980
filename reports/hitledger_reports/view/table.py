"""A table as values with units: what CSV and Parquet write as it is, and what every other report writes out."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from hitledger.types import Certainty
from hitledger_reports import figures

Value = str | int | float | Decimal | datetime | None
Row = TypeVar("Row")


class Unit(StrEnum):
    """What a column counts; decides how its values are written and sorted."""

    TEXT = "text"
    COUNT = "count"
    TOKENS = "tokens"
    USD = "usd"
    SHARE = "share"
    SECONDS = "seconds"
    TIME = "time"


class Column(Struct, frozen=True):
    """`key` is the name in CSV and Parquet, `title` the heading for people ("": for machines only)."""

    key: str
    title: str
    unit: Unit = Unit.TEXT
    sure: str = ""  # key of the column that says how certain this one is; "": exact

    @property
    def is_number(self) -> bool:
        """Whether it is aligned right and sorted by value."""
        return self.unit not in (Unit.TEXT, Unit.TIME)


class Cell(Struct, frozen=True):
    """A value written out, and what it is sorted by."""

    text: str
    sort: str


class Table(Struct, frozen=True):
    """Rows of values, one for each column."""

    name: str  # file name in CSV and Parquet
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    @property
    def headings(self) -> tuple[Column, ...]:
        """The columns that people see."""
        return tuple(column for column in self.columns if column.title)


Field = tuple[Column, Callable[[Row], Value]]  # a column, and its value for a row


def table_of(name: str, title: str, fields: Sequence[Field[Row]], rows: Iterable[Row]) -> Table:
    """A table with these columns, and a row of values for each of `rows`."""
    columns, values = tuple(column for column, _ in fields), [value for _, value in fields]
    return Table(name, title, columns, tuple(tuple([value(row) for value in values]) for row in rows))


def write(value: Value, unit: Unit, certainty: Certainty = Certainty.EXACT) -> str:
    """One value for people."""
    if value is None:
        return figures.UNKNOWN
    if isinstance(value, datetime):
        return figures.utc(value)
    if isinstance(value, Decimal):
        return figures.usd(value, certainty)
    if isinstance(value, str):
        return value
    if unit is Unit.SHARE:
        return figures.share(float(value), certainty)
    if unit is Unit.SECONDS:
        return figures.duration(float(value))
    return figures.count(int(value), certainty)


def sort_key(value: Value) -> str:
    """What a script sorts by: numbers as numbers, times as seconds, unknown as nothing."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC).timestamp():.3f}"
    return str(value)


def cells(table: Table, limit: int | None = None) -> tuple[tuple[Cell, ...], ...]:
    """The first `limit` rows of the columns that people see, written out."""
    place = {column.key: number for number, column in enumerate(table.columns)}
    chosen = [(place[column.key], column, place.get(column.sure)) for column in table.headings]
    return tuple(
        tuple(
            Cell(write(row[number], column.unit, _certainty(row, sure)), sort_key(row[number]))
            for number, column, sure in chosen
        )
        for row in table.rows[:limit]
    )


def _certainty(row: Sequence[Value], place: int | None) -> Certainty:
    return Certainty.EXACT if place is None else Certainty(str(row[place]))
