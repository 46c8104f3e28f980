"""The rows of a prices file: what corrects or completes the price list."""

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from fnmatch import fnmatchcase

from msgspec import Struct

from hitledger.prices.names import candidates


class Scope(Struct, frozen=True):
    """Which calls a row is about, and where it comes from."""

    where: str  # "FILE: price row 3"
    providers: tuple[str, ...]
    models: tuple[str, ...]  # shell patterns, lower case
    valid_from: date | None
    valid_to: date | None  # the first day on which it holds no more
    source: str
    checked: date
    evidence: str
    note: str = ""
    own: bool = False  # of the user's file, which comes before the list and the rows shipped with it

    def covers(self, model: str, provider: str) -> bool:
        """Whether it is about this model, whenever."""
        return provider in self.providers and any(
            fnmatchcase(name, pattern) for name in candidates(model, provider) for pattern in self.models
        )

    def holds(self, day: date) -> bool:
        """Whether it holds on this day (UTC)."""
        return (self.valid_from is None or self.valid_from <= day) and (self.valid_to is None or day < self.valid_to)


class PriceRow(Struct, frozen=True):
    """Rates per million tokens that replace those of the list; classes that it leaves out stay."""

    scope: Scope
    rates: tuple[tuple[str, Decimal], ...]  # input, cache_read, output, cache_write:LIFETIME
    tier: str = ""
    above: int = 0


class ModifierRow(Struct, frozen=True):
    """What a tier multiplies every rate by, where no price is listed for the tier."""

    scope: Scope
    tier: str
    factor: Decimal


class WriteRow(Struct, frozen=True):
    """Writes with a lifetime that the list does not price, as a multiple of the input rate."""

    scope: Scope
    lifetime: str
    of_input: Decimal


class WindowRow(Struct, frozen=True):
    """Hours in which every rate is multiplied. A model with window rows has none but these."""

    scope: Scope
    factor: Decimal
    days: tuple[int, ...]  # 0 is Monday
    hours: tuple[tuple[time, time], ...]  # UTC
    holidays: str = ""  # name of the days on which the window does not open

    def open(self, at: datetime, holidays: frozenset[date]) -> bool:
        """Whether the hours run at that time (UTC)."""
        day, now = at.date(), at.time()
        if day.weekday() not in self.days or day in holidays:
            return False
        return any(start <= now < end for start, end in self.hours)


class StorageRow(Struct, frozen=True):
    """What keeping an explicit cache costs."""

    scope: Scope
    per_mtok_hour: Decimal


class AliasRow(Struct, frozen=True):
    """What model a name stands for, such as that of an Azure deployment."""

    scope: Scope
    model: str


class HolidayRow(Struct, frozen=True):
    """Named days, and the last day up to which the list of them is known."""

    name: str
    days: frozenset[date]
    known_to: date
    source: str


class PriceFile(Struct, frozen=True):
    """All rows of one file, in its order."""

    name: str
    prices: tuple[PriceRow, ...] = ()
    modifiers: tuple[ModifierRow, ...] = ()
    writes: tuple[WriteRow, ...] = ()
    windows: tuple[WindowRow, ...] = ()
    storage: tuple[StorageRow, ...] = ()
    aliases: tuple[AliasRow, ...] = ()
    holidays: tuple[HolidayRow, ...] = ()

    def days(self) -> Iterator[date]:
        """Days on which a row begins or ends to hold."""
        for rows in (self.prices, self.modifiers, self.writes, self.windows):
            for scope in (row.scope for row in rows):
                yield from (day for day in (scope.valid_from, scope.valid_to) if day is not None)
