"""Reading a prices file (TOML, schema in docs/prices.md). Whatever is wrong with it is said with file, row and reason."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
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
from hitledger.tomlfile import is_schema, tables_of, text_of

SCHEMA = 1
MAX_BYTES = 5_000_000
MAX_ROWS = 1_000  # of one table: each is compared with every other
MAX_NUMBER = 1_000_000  # USD per million tokens; more is a mistake
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CLASSES: tuple[str, ...] = ("input", "cache_read", "output")
KINDS: Mapping[type, str] = {date: "day like 2026-10-07", int: "whole number", str: "text"}
LIFETIME = re.compile(r"[1-9]\d{0,3}[mh]")
CLOCK = re.compile(r"(2[0-3]|[01]?\d):([0-5]?\d)")
MIDNIGHT = "24:00"
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
            raise self.error(f"{key} = {value!r:.80} is not a {KINDS[kind]}")
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
            raise self.error(f"{key} = {value!r:.80} is not a number from 0 to {MAX_NUMBER}")
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
    """The user's file. Raises PriceFileError, also for rows that say two things of the same call."""
    try:
        text = text_of(path, MAX_BYTES)
    except ValueError as error:
        raise PriceFileError(f"{path}: {error}") from error
    found = parse_price_file(text, str(path), own=True)
    refuse_overlaps(found)
    return found


def parse_price_file(text: str, name: str, *, own: bool) -> PriceFile:
    """Rows of a file's text. `own`: the user's file, not the one shipped. Raises PriceFileError."""
    try:
        table = tables_of(text, Decimal)
    except ValueError as error:
        raise PriceFileError(f"{name}: {error}") from error
    if not is_schema(table.pop("schema", None), SCHEMA):
        raise PriceFileError(f"{name}: schema must be {SCHEMA}")

    def rows(key: str, build: Callable[[Fields], Row]) -> tuple[Row, ...]:
        listed = table.pop(key, [])
        if not isinstance(listed, list):
            raise PriceFileError(f"{name}: write [[{key}]], with two brackets")
        if len(listed) > MAX_ROWS:
            raise PriceFileError(f"{name}: more than {MAX_ROWS:,} {key} rows; reduce it to the models you use")
        return tuple(_complete(Fields(f"{name}: {key} row {n}", raw), build) for n, raw in enumerate(listed, 1))

    found = PriceFile(
        name,
        prices=rows("price", lambda fields: _price(fields, own)),
        modifiers=rows("modifier", lambda fields: _modifier(fields, own)),
        writes=rows("write", lambda fields: _write(fields, own)),
        windows=rows("window", lambda fields: _window(fields, own)),
        storage=rows("storage", lambda f: StorageRow(f.scope(own), f.number("per_mtok_hour"))),
        aliases=rows("alias", lambda f: AliasRow(f.scope(own), f.take("model", str))),
        holidays=rows("holidays", _holidays),
    )
    if table:
        raise PriceFileError(f"{name}: wrong table {next(iter(table))!r}")
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
        name = "" if lifetime in DEFAULT_LIFETIMES else _lifetime(inner, lifetime)
        rates.append((f"cache_write:{name}", inner.number(lifetime)))
    if len(dict(rates)) < len(rates):
        raise inner.error("5m and 30m are both the default lifetime: give one")
    if not rates:
        raise fields.error("gives no rate")
    above = fields.take("above", int, 0)
    if above < 0:
        raise fields.error(f"above = {above} is negative")
    return PriceRow(scope, tuple(rates), fields.take("tier", str, ""), above)


def _lifetime(fields: Fields, text: str) -> str:
    if LIFETIME.fullmatch(text) is None:
        raise fields.error(f"{text!r:.80} is no lifetime like 5m or 1h")
    return text


def _write(fields: Fields, own: bool) -> WriteRow:
    lifetime = _lifetime(fields, fields.take("lifetime", str))
    return WriteRow(fields.scope(own), lifetime, fields.number("of_input"))


def _modifier(fields: Fields, own: bool) -> ModifierRow:
    tier = fields.take("tier", str)
    if not tier:
        raise fields.error("tier is empty: a row for the standard price is a price row")
    return ModifierRow(fields.scope(own), tier, fields.number("factor"))


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
        start, end = (_clock(part) for part in span.split("-"))
    except ValueError:
        raise fields.error(f"hours: {span!r:.80} is not like 01:00-04:00") from None
    if end <= start:
        raise fields.error(f"hours: {span!r} ends before it starts; write two spans")
    return start, end


def _clock(text: str) -> time:
    """A time like 01:00, in UTC; 24:00 is the end of the day. Raises ValueError."""
    if text == MIDNIGHT:
        return time.max
    found = CLOCK.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return time(int(found[1]), int(found[2]))


def _holidays(fields: Fields) -> HolidayRow:
    days = fields.raw.pop("days", None)
    if not isinstance(days, list) or not all(isinstance(d, date) and not isinstance(d, datetime) for d in days):
        raise fields.error("days must be a list of days like 2026-10-01")
    return HolidayRow(
        fields.take("name", str), frozenset(days), fields.take("known_to", date), fields.take("source", str)
    )


def refuse_overlaps(file: PriceFile) -> None:
    """Raises PriceFileError for two rows that say different things of the same call, and for holidays named twice."""
    from hitledger.prices.overlaps import overlaps  # most audits have no prices of the user's

    for earlier, later in overlaps(file):
        raise PriceFileError(f"{later.where}: overlaps {earlier.where.rpartition(': ')[2]}")
    names = [row.name for row in file.holidays]
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            raise PriceFileError(f"{file.name}: holidays row {number}: {name!r} is listed twice")
