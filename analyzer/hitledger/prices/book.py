"""The price book: rates of a model at a time, from the price list, the rows shipped beside it and the user's file.

Later layers win: list, shipped rows, user's rows. Then come tier, hours of the day, and lifetimes of writes that only
a multiple of the input rate prices. Nothing has a default price: what is not known raises UnknownPrice.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path

from msgspec import Struct, field

from hitledger.prices.names import WHOLE_NAMES, tier_in_name
from hitledger.prices.rates import PriceKey, Rates, UnknownPrice
from hitledger.prices.rowfile import PriceFileError, parse_price_file, read_price_file
from hitledger.prices.rows import PriceFile, Scope
from hitledger.prices.snapshot import ListedModel, PriceList, bundled_list
from hitledger.prices.working import Working


@cache
def shipped_rows() -> PriceFile:
    """`overrides.toml` of this package. That its rows do not overlap is tested, not looked at in every audit."""
    text = Path(__file__).with_name("overrides.toml").read_text("utf-8")
    return parse_price_file(text, "overrides.toml", own=False)


# Tier, how many of the days have passed, day and how many of its times have (where there are any), of the steps.
_Place = tuple[str, int, tuple[int, ...], int]


def _read_own(path: Path) -> PriceFile:
    from hitledger.prices.litellm_json import is_litellm, read_litellm  # most audits have no prices of the user's

    return read_litellm(path) if is_litellm(path) else read_price_file(path)


def _refuse_unknown_holidays(known: Sequence[PriceFile]) -> None:
    names = {row.name for file in known for row in file.holidays}
    for row in (row for file in known for row in file.windows):
        if row.holidays and row.holidays not in names:
            raise PriceFileError(f"{row.scope.where}: there are no holidays named {row.holidays!r:.80}")


class _Subject(Struct):
    """One (model, provider): what the layers say about it, and the answers given so far."""

    listed: ListedModel | None
    tier: str  # that the model's name says
    files: tuple[PriceFile, ...]
    steps: tuple[int, ...]  # prompt lengths at which a price changes, ascending
    days: tuple[int, ...]  # days on which a price changes, as ordinals, ascending
    times: tuple[time, ...]  # of the day (UTC) at which a price changes, ascending
    answers: dict[_Place, Rates | UnknownPrice] = field(default_factory=dict)


class PriceBook:
    """`overrides`: the user's prices file, TOML or LiteLLM's JSON. Raises PriceFileError where it is wrong."""

    def __init__(self, overrides: Path | None = None, prices: PriceList | None = None) -> None:
        self._list = prices
        own = () if overrides is None else (_read_own(overrides),)
        self._files: tuple[PriceFile, ...] = (shipped_rows(), *own)
        _refuse_unknown_holidays(self._files)
        self._subjects: dict[tuple[str, str], _Subject] = {}

    def rates(self, model: str, provider: str, at: datetime | None, tier: str = "", prompt_tokens: int = 0) -> Rates:
        """USD per token for a call. `tier` as in `Call.tier`, parts joined by "+". Raises UnknownPrice."""
        found = self.find(model, provider, at, tier, prompt_tokens)
        if isinstance(found, UnknownPrice):
            raise found
        return found

    def find(
        self, model: str, provider: str, at: datetime | None, tier: str = "", prompt_tokens: int = 0
    ) -> Rates | UnknownPrice:
        """Like `rates`, with the refusal as a value. Each distinct combination is worked out once."""
        if at is None:
            return UnknownPrice(model, provider, "the time of the call is not known")
        if at.tzinfo is not UTC:
            at = at.astimezone(UTC)
        subject = self._subjects.get((model, provider)) or self._subject(model, provider)
        day = at.toordinal()
        hours = (day, bisect_right(subject.times, at.time())) if subject.times else ()
        place = (tier, bisect_right(subject.days, day), hours, bisect_left(subject.steps, prompt_tokens))
        found = subject.answers.get(place)
        if found is None:
            parts = dict.fromkeys((*tier.split("+"), subject.tier))
            key = PriceKey(model, provider, at, "+".join(filter(None, parts)), prompt_tokens)
            found = subject.answers[place] = self._work_out(key, subject, place[-1])
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
        name, tier = self._alias(model, provider), ""
        if provider not in WHOLE_NAMES:
            name, tier = tier_in_name(name)
        found = self._subjects[model, provider] = self._look_up(name, provider, tier)
        return found

    def _alias(self, model: str, provider: str) -> str:
        rows = [row for file in self._files for row in file.aliases if row.scope.covers(model, provider)]
        return rows[-1].model if rows else model

    def _look_up(self, model: str, provider: str, tier: str) -> _Subject:
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
        steps = {row.above for file in narrowed for row in file.prices if row.above}
        days = {day for file in narrowed for day in file.days()}
        spans = [span for file in narrowed for row in file.windows for span in row.hours]
        if listed is not None:
            steps |= listed.steps
            days |= listed.days
            spans += [price.hours for price in listed.prices if price.hours is not None]
        ordinals = tuple(sorted(day.toordinal() for day in days))
        times = tuple(sorted({moment for span in spans for moment in span}))
        return _Subject(listed, tier, narrowed, tuple(sorted(steps)), ordinals, times)

    def _work_out(self, key: PriceKey, subject: _Subject, band: int) -> Rates | UnknownPrice:
        if not key.model or not key.provider:
            missing = "model" if not key.model else "provider"
            return UnknownPrice(key.model, key.provider, f"the {missing} is not known")
        working = Working(key, subject.listed, subject.files, self._list.source if self._list else "")
        try:
            return working.rates(subject.steps[band - 1] if band else 0)
        except UnknownPrice as unknown:
            return unknown
