"""Every table as CSV and Parquet, one file each. The only user of polars, which is loaded when it is needed."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hitledger.errors import HitledgerError
from hitledger.results import Audit
from hitledger_reports.view.table import Column, Table, Unit, Value
from hitledger_reports.view.tables import every_table

if TYPE_CHECKING:
    import polars

# A cell that begins with one of these is a formula to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
MONEY_DIGITS = 12


def write_csv(audit: Audit, folder: str, show_secrets: bool = False) -> tuple[str, ...]:
    """Write NAME.csv for each table; the names. Money has all its digits, times are UTC, unknown is empty.

    A text that a spreadsheet would take for a formula gets an apostrophe in front. Raises HitledgerError.
    """
    return _write(audit, folder, "csv", show_secrets, lambda frame, path: frame.write_csv(path))


def write_parquet(audit: Audit, folder: str, show_secrets: bool = False) -> tuple[str, ...]:
    """Write NAME.parquet for each table; the names. Raises HitledgerError."""
    return _write(audit, folder, "parquet", show_secrets, lambda frame, path: frame.write_parquet(path))


def _write(
    audit: Audit, folder: str, ending: str, show_secrets: bool, write: Callable[["polars.DataFrame", Path], None]
) -> tuple[str, ...]:
    names: list[str] = []
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for table in every_table(audit, show_secrets):
            names.append(f"{table.name}.{ending}")
            write(frame(table, guard_formulas=ending == "csv"), Path(folder) / names[-1])
    except OSError as error:
        raise HitledgerError(f"{folder}: cannot be written: {error.strerror}") from error
    return tuple(names)


def frame(table: Table, guard_formulas: bool = False) -> "polars.DataFrame":
    """A table as a data frame, all its columns, also those that people do not see."""
    import polars

    types = {
        Unit.TEXT: polars.String(),
        Unit.COUNT: polars.Int64(),
        Unit.TOKENS: polars.Int64(),
        Unit.USD: polars.Decimal(38, MONEY_DIGITS),
        Unit.SHARE: polars.Float64(),
        Unit.SECONDS: polars.Float64(),
        Unit.TIME: polars.Datetime("us", "UTC"),
    }
    schema: dict[str, Any] = {column.key: types[column.unit] for column in table.columns}
    guard = _guarded if guard_formulas else _plain
    data = {column.key: [guard(row[place], column) for row in table.rows] for place, column in enumerate(table.columns)}
    return polars.DataFrame(data, schema=schema)


def _plain(value: Value, column: Column) -> Value:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return str(value) if column.unit is Unit.TEXT and value is not None else value


def _guarded(value: Value, column: Column) -> Value:
    plain = _plain(value, column)
    return "'" + plain if isinstance(plain, str) and plain.startswith(_FORMULA) else plain
