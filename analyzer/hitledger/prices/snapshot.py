"""The price list compiled from genai-prices: which model a name means, and its prices at one time.

A model's standard price is the last of its dated prices that has begun; daily windows stand last and win (as in
genai-prices). A tier's price replaces the rates that it names.
"""

import re
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from hitledger.prices.names import LISTED_AS, candidates

Steps = tuple[tuple[int, Decimal], ...]  # (prompt tokens above which the price holds, USD per million tokens)


class ListPrice(msgspec.Struct, frozen=True):
    """Prices per million tokens by class (input, cache_read, cache_write, cache_write_1h, output)."""

    rates: tuple[tuple[str, Steps], ...]
    begins: date | None = None
    hours: tuple[time, time] | None = None  # UTC, every day

    def at(self, prompt_tokens: int) -> dict[str, Decimal]:
        """The rates for a prompt of that length: the highest step passed prices every token (a cliff, no bracket)."""
        return {
            name: max((step for step in steps if step[0] < prompt_tokens or step[0] == 0), key=lambda step: step[0])[1]
            for name, steps in self.rates
        }

    def holds(self, at: datetime) -> bool:
        """Whether the price holds at that time (UTC)."""
        if self.hours is not None:
            start, end = self.hours
            now = at.time()
            return start <= now < end if start <= end else now >= start or now < end
        return self.begins is None or at.date() >= self.begins


class ListedModel(msgspec.Struct, frozen=True):
    """One model of the price list."""

    provider: str
    id: str
    prices: tuple[ListPrice, ...]
    tiers: tuple[tuple[str, ListPrice], ...] = ()

    def standard(self, at: datetime, windows: bool = True) -> ListPrice:
        """The price without a tier. With `windows` off, daily windows are left out."""
        usable = [price for price in self.prices if windows or price.hours is None]
        return next((price for price in reversed(usable) if price.holds(at)), usable[0])

    def tier(self, name: str) -> tuple[ListPrice, ...]:
        """All prices listed for a tier, those that win first."""
        return tuple(price for tier, price in self.tiers if tier == name)

    @property
    def steps(self) -> frozenset[int]:
        """Prompt lengths at which a price changes."""
        every = [*self.prices, *(price for _, price in self.tiers)]
        return frozenset(start for price in every for _, steps in price.rates for start, _ in steps if start)

    @property
    def days(self) -> frozenset[date]:
        """Days on which a price changes."""
        every = [*self.prices, *(price for _, price in self.tiers)]
        return frozenset(price.begins for price in every if price.begins is not None)


class Snapshot(msgspec.Struct, frozen=True):
    """`snapshot.json`. Each provider's part stays JSON until a model of it is looked for: a log has few of them."""

    source: str
    compiled: str
    providers: dict[str, msgspec.Raw]


class PriceList:
    """The compiled list. Models are parsed when first asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.source: str = f"{snapshot.source}, compiled {snapshot.compiled}"
        self._unread = dict(snapshot.providers)
        self._read: dict[str, Any] = {}

    def find(self, model: str, provider: str) -> ListedModel | None:
        """The first model of the provider's list whose names match; then of the lists it resells."""
        listed = LISTED_AS.get(provider, provider)
        if listed not in self._unread:
            return None
        for source in (listed, *self._provider(listed)["fallback"]):
            for name in candidates(model, provider):
                for row in self._provider(source)["models"]:
                    if _matches(row["match"], name):
                        return _listed_model(source, row)
        return None

    def _provider(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = msgspec.json.decode(self._unread[name])
        return self._read[name]


@cache
def bundled_list() -> PriceList:
    """The list shipped in this package."""
    return PriceList(msgspec.json.decode(Path(__file__).with_name("snapshot.json").read_bytes(), type=Snapshot))


def _matches(clause: list[Any], name: str) -> bool:
    kind, *values = clause
    match kind:
        case "any":
            return any(_matches(inner, name) for inner in values)
        case "all":
            return all(_matches(inner, name) for inner in values)
        case "equals":
            return bool(name == values[0].lower())
        case "starts":
            return name.startswith(values[0].lower())
        case "ends":
            return name.endswith(values[0].lower())
        case "contains":
            return values[0].lower() in name
        case _:
            return re.search(values[0], name) is not None


def _listed_model(provider: str, row: dict[str, Any]) -> ListedModel:
    return ListedModel(
        provider,
        row["id"],
        tuple(_list_price(entry) for entry in row["prices"]),
        tuple((entry["tier"], _list_price(entry)) for entry in row.get("tiers", ())),
    )


def _list_price(entry: dict[str, Any]) -> ListPrice:
    begins, hours = entry.get("from"), entry.get("hours")
    return ListPrice(
        tuple((name, _steps(value)) for name, value in entry["rates"].items()),
        date.fromisoformat(begins) if begins else None,
        (time.fromisoformat(hours[0]), time.fromisoformat(hours[1])) if hours else None,
    )


def _steps(value: Any) -> Steps:
    if isinstance(value, str):
        return ((0, Decimal(value)),)
    return ((0, Decimal(value[0])), *((start, Decimal(price)) for start, price in value[1:]))
