"""Reading a prices file (TOML, schema in docs/prices.md). Whatever is wrong with it is said with file, row and reason."""

import tomllib
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from hitledger.errors import HitledgerError
from hitledger.prices.rates import DEFAULT_LIFETIMES
from hitledger.prices.rows import (
    AliasRow,
    HolidayRow,
    ModifierRow,
    PriceFile,
    PriceRow,
    Scope,
    StorageRow,
    WindowRow,
    WriteRow,
)

SCHEMA = 1
MAX_BYTES = 5_000_000
MAX_NUMBER = 1_000_000  # USD per million tokens; more is a mistake
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CLASSES: tuple[str, ...] = ("input", "cache_read", "output")
EVIDENCE = ("official", "third-party", "inferred", "remembered")

Row = TypeVar("Row")


class PriceFileError(HitledgerError):
    """A prices file that cannot be used."""

    exit_code = 2


class Fields:
    """The fields of one row, each taken once; what is left over is a wrong key."""

    def __init__(self, where: str, raw: Any) -> None:
        self.where = where
        if not isinstance(raw, dict):
            raise self.error("is not a table")
        self.raw: dict[str, Any] = dict(raw)

    def error(self, reason: str) -> PriceFileError:
        """The error to raise about this row."""
        return PriceFileError(f"{self.where}: {reason}")

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        """A field of one type; without a default it must be there."""
        if key not in self.raw:
            if default is None:
                raise self.error(f"{key} is missing")
            return default
        value = self.raw.pop(key)
        if type(value) is not kind:
            raise self.error(f"{key} = {value!r} is not a {'day like 2026-10-07' if kind is date else kind.__name__}")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """A text or a list of texts, in lower case."""
        value = self.raw.pop(key, None)
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not values or not all(isinstance(v, str) and v for v in values):
            raise self.error(f"{key} must be a text or a list of texts")
        return tuple(v.lower() for v in values)

    def day(self, key: str) -> date | None:
        """A day or nothing."""
        return self.take(key, date) if key in self.raw else None

    def number(self, key: str) -> Decimal:
        """A decimal number that is not negative: "0.25", 0.25 or 2."""
        value = self.raw.pop(key, None)
        if value is None:
            raise self.error(f"{key} is missing")
        try:
            number = Decimal(value) if isinstance(value, (str, int, Decimal)) and value is not True else None
        except InvalidOperation:
            number = None
        if number is None or not number.is_finite() or not 0 <= number <= MAX_NUMBER:
            raise self.error(f"{key} = {value!r} is not a number from 0 to {MAX_NUMBER}")
        return number

    def done(self) -> None:
        """Raises for a key that nothing took."""
        if self.raw:
            raise self.error(f"wrong key {next(iter(self.raw))!r}")

    def scope(self, own: bool) -> Scope:
        """The fields that every row has."""
        begins, ends = self.day("valid_from"), self.day("valid_to")
        if begins and ends and ends <= begins:
            raise self.error(f"valid_to {ends} is not after valid_from {begins}")
        evidence = self.take("evidence", str, "official")
        if evidence not in EVIDENCE:
            raise self.error(f"evidence = {evidence!r} is none of {', '.join(EVIDENCE)}")
        return Scope(
            self.where,
            self.names("provider"),
            self.names("models"),
            begins,
            ends,
            self.take("source", str),
            self.take("checked", date),
            evidence,
            self.take("note", str, ""),
            own,
        )


def read_price_file(path: Path) -> PriceFile:
    """The user's file. Raises PriceFileError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PriceFileError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise PriceFileError(f"{path}: larger than {MAX_BYTES} bytes; reduce it to the models you use")
    return parse_price_file(data, str(path), own=True)


def parse_price_file(data: bytes, name: str, *, own: bool) -> PriceFile:
    """Rows of a file's bytes. `own`: the user's file, not the one shipped. Raises PriceFileError."""
    try:
        table = tomllib.loads(data.decode(), parse_float=Decimal)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PriceFileError(f"{name}: not TOML: {error}") from error
    if table.pop("schema", None) != SCHEMA:
        raise PriceFileError(f"{name}: schema must be {SCHEMA}")

    def rows(key: str, build: Callable[[Fields], Row]) -> tuple[Row, ...]:
        listed = table.pop(key, [])
        if not isinstance(listed, list):
            raise PriceFileError(f"{name}: write [[{key}]], with two brackets")
        return tuple(_complete(Fields(f"{name}: {key} row {n}", raw), build) for n, raw in enumerate(listed, 1))

    found = PriceFile(
        name,
        prices=rows("price", lambda fields: _price(fields, own)),
        modifiers=rows("modifier", lambda f: ModifierRow(f.scope(own), f.take("tier", str), f.number("factor"))),
        writes=rows("write", lambda f: WriteRow(f.scope(own), f.take("lifetime", str), f.number("of_input"))),
        windows=rows("window", lambda fields: _window(fields, own)),
        storage=rows("storage", lambda f: StorageRow(f.scope(own), f.number("per_mtok_hour"))),
        aliases=rows("alias", lambda f: AliasRow(f.scope(own), f.take("model", str))),
        holidays=rows("holidays", _holidays),
    )
    if table:
        raise PriceFileError(f"{name}: wrong table {next(iter(table))!r}")
    _refuse_overlaps(found.prices)
    return found


def _complete(fields: Fields, build: Callable[[Fields], Row]) -> Row:
    row = build(fields)
    fields.done()
    return row


def _price(fields: Fields, own: bool) -> PriceRow:
    scope = fields.scope(own)
    rates = [(key, fields.number(key)) for key in CLASSES if key in fields.raw]
    writes = fields.raw.pop("cache_write", {})
    lifetimes = writes if isinstance(writes, dict) else {"": writes}
    inner = Fields(f"{fields.where}, cache_write", lifetimes)
    for lifetime in tuple(lifetimes):
        name = "" if lifetime in DEFAULT_LIFETIMES else lifetime
        rates.append((f"cache_write:{name}", inner.number(lifetime)))
    if not rates:
        raise fields.error("gives no rate")
    above = fields.take("above", int, 0)
    if above < 0:
        raise fields.error(f"above = {above} is negative")
    return PriceRow(scope, tuple(rates), fields.take("tier", str, ""), above)


def _window(fields: Fields, own: bool) -> WindowRow:
    scope = fields.scope(own)
    days = fields.names("days")
    if wrong := [day for day in days if day not in DAYS]:
        raise fields.error(f"days: {wrong[0]!r} is none of {', '.join(DAYS)}")
    hours = tuple(_hours(fields, span) for span in fields.names("hours"))
    numbers = tuple(DAYS.index(day) for day in days)
    return WindowRow(scope, fields.number("factor"), numbers, hours, fields.take("holidays", str, ""))


def _hours(fields: Fields, span: str) -> tuple[time, time]:
    try:
        start, end = (time.fromisoformat(part) for part in span.split("-"))
    except ValueError:
        raise fields.error(f"hours: {span!r} is not like 01:00-04:00") from None
    if end <= start:
        raise fields.error(f"hours: {span!r} ends before it starts; write two spans")
    return start, end


def _holidays(fields: Fields) -> HolidayRow:
    days = fields.raw.pop("days", None)
    if not isinstance(days, list) or not all(isinstance(d, date) and not isinstance(d, datetime) for d in days):
        raise fields.error("days must be a list of days like 2026-10-01")
    return HolidayRow(
        fields.take("name", str), frozenset(days), fields.take("known_to", date), fields.take("source", str)
    )


def _refuse_overlaps(rows: Iterable[PriceRow]) -> None:
    """Two rows of one file must not price the same class of the same model at the same time."""
    seen: list[PriceRow] = []
    for row in rows:
        for other in seen:
            if row.tier == other.tier and row.above == other.above and _overlap(row, other):
                raise PriceFileError(f"{row.scope.where}: overlaps {other.scope.where.rpartition(': ')[2]}")
        seen.append(row)


def _overlap(row: PriceRow, other: PriceRow) -> bool:
    mine, theirs = row.scope, other.scope
    if not set(mine.providers) & set(theirs.providers) or not {n for n, _ in row.rates} & {n for n, _ in other.rates}:
        return False
    if not any(fnmatchcase(a, b) or fnmatchcase(b, a) for a in mine.models for b in theirs.models):
        return False
    starts = max(mine.valid_from or date.min, theirs.valid_from or date.min)
    return starts < min(mine.valid_to or date.max, theirs.valid_to or date.max)
