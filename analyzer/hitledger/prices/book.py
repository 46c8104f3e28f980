"""The price book: rates of a model at a time, from the price list, the rows shipped beside it and the user's file.

Later layers win: list, shipped rows, user's rows. Then come tier, hours of the day, and lifetimes of writes that only
a multiple of the input rate prices. Nothing has a default price: what is not known raises UnknownPrice.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path

from hitledger.prices.litellm_json import is_litellm, read_litellm
from hitledger.prices.rates import PriceKey, Rates, UnknownPrice
from hitledger.prices.rowfile import parse_price_file, read_price_file
from hitledger.prices.rows import PriceFile, PriceRow, Scope
from hitledger.prices.snapshot import ListedModel, PriceList, bundled_list
from hitledger.prices.working import Working

HALF_HOUR = 1800  # seconds; every change of price falls on a half hour


@cache
def shipped_rows() -> PriceFile:
    """`overrides.toml` of this package."""
    data = (files("hitledger") / "prices" / "overrides.toml").read_bytes()
    return parse_price_file(data, "overrides.toml", own=False)


@dataclass(slots=True)
class _Subject:
    """One (model, provider): what the layers say about it, and the answers given so far."""

    listed: ListedModel | None
    files: tuple[PriceFile, ...]
    prices: tuple[PriceRow, ...]
    steps: tuple[int, ...]  # prompt lengths at which a price changes, ascending
    answers: dict[tuple[str, int, int], Rates | UnknownPrice] = field(default_factory=dict)


class PriceBook:
    """`overrides`: the user's prices file, TOML or LiteLLM's JSON. Raises PriceFileError where it is wrong."""

    def __init__(self, overrides: Path | None = None, prices: PriceList | None = None) -> None:
        self._list = prices
        own = (
            ()
            if overrides is None
            else (read_litellm(overrides) if is_litellm(overrides) else read_price_file(overrides),)
        )
        self._files: tuple[PriceFile, ...] = (shipped_rows(), *own)
        self._subjects: dict[tuple[str, str], _Subject] = {}

    def rates(self, model: str, provider: str, at: datetime | None, tier: str = "", prompt_tokens: int = 0) -> Rates:
        """USD per token for a call. `tier` as in `Call.tier`, parts joined by "+". Raises UnknownPrice."""
        found = self.find(PriceKey(model, provider, at, tier, prompt_tokens))
        if isinstance(found, UnknownPrice):
            raise found
        return found

    def table(self, keys: Iterable[PriceKey]) -> tuple[Rates | UnknownPrice, ...]:
        """Rates for many calls, in their order; each distinct combination is worked out once."""
        return tuple(map(self.find, keys))

    def find(self, key: PriceKey) -> Rates | UnknownPrice:
        """Rates for a call, or why there are none."""
        if key.at is None:
            return UnknownPrice(key.model, key.provider, "the time of the call is not known")
        subject = self._subject(key.model, key.provider)
        band = bisect_left(subject.steps, key.prompt_tokens)
        place = (key.tier, int(key.at.timestamp()) // HALF_HOUR, band)
        found = subject.answers.get(place)
        if found is None:
            found = subject.answers[place] = self._work_out(key, key.at.astimezone(UTC), subject, band)
        return found

    def storage(self, model: str, provider: str, at: datetime) -> Decimal:
        """USD per token-hour of an explicit cache. Raises UnknownPrice."""
        day = at.astimezone(UTC).date()
        rows = [row for file in self._files for row in file.storage if row.scope.covers(model, provider)]
        usable = [row for row in rows if row.scope.holds(day)]
        if not usable:
            raise UnknownPrice(model, provider, f"no storage price on {day}")
        return usable[-1].per_mtok_hour / 1_000_000

    def _subject(self, model: str, provider: str) -> _Subject:
        place = (model, provider)
        if place not in self._subjects:
            self._subjects[place] = self._look_up(self._alias(model, provider), provider)
        return self._subjects[place]

    def _alias(self, model: str, provider: str) -> str:
        rows = [row for file in self._files for row in file.aliases if row.scope.covers(model, provider)]
        return rows[-1].model if rows else model

    def _look_up(self, model: str, provider: str) -> _Subject:
        if self._list is None:
            self._list = bundled_list()

        def about(scope: Scope) -> bool:
            return scope.covers(model, provider)

        narrowed = tuple(
            PriceFile(
                file.name,
                prices=tuple(row for row in file.prices if about(row.scope)),
                modifiers=tuple(row for row in file.modifiers if about(row.scope)),
                writes=tuple(row for row in file.writes if about(row.scope)),
                windows=tuple(row for row in file.windows if about(row.scope)),
                holidays=file.holidays,
            )
            for file in self._files
        )
        listed = self._list.find(model, provider) if model and provider else None
        prices = tuple(row for file in narrowed for row in file.prices)
        steps = {row.above for row in prices if row.above} | (listed.steps if listed else set())
        return _Subject(listed, narrowed, prices, tuple(sorted(steps)))

    def _work_out(self, key: PriceKey, at: datetime, subject: _Subject, band: int) -> Rates | UnknownPrice:
        if not key.model or not key.provider:
            missing = "model" if not key.model else "provider"
            return UnknownPrice(key.model, key.provider, f"the {missing} is not known")
        source = self._list.source if self._list else ""
        working = Working(key, at, subject.listed, subject.files, source)
        try:
            return working.rates(subject.steps[band - 1] if band else 0)
        except UnknownPrice as unknown:
            return unknown
