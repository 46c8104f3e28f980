"""Working out one price: the list's price, corrected by rows, for the tier, the hour and the lifetimes of writes."""

from datetime import date, datetime
from decimal import Decimal

from hitledger.prices.rates import DEFAULT_LIFETIMES, PriceKey, Rates, UnknownPrice, WriteRate
from hitledger.prices.rows import ModifierRow, PriceFile, Scope, WindowRow
from hitledger.prices.snapshot import ListedModel, ListPrice

PER_MILLION = Decimal("0.000001")


class Working:
    """The rates so far, in USD per million tokens, and what they rest on."""

    def __init__(self, key: PriceKey, listed: ListedModel | None, files: tuple[PriceFile, ...], source: str) -> None:
        self.key, self.at, self.day = key, key.at, key.at.date()
        self.listed, self.files, self.source = listed, files, source
        self.rate: dict[str, Decimal] = {}
        self.sources: list[str] = []
        self.notes: list[str] = []
        self.write_notes: dict[str, str] = {}
        self.since: date | None = None

    def rates(self, above: int) -> Rates:
        """The answer for prompts of more than `above` tokens. Raises UnknownPrice."""
        self._take_list(use_its_windows=not any(file.windows for file in self.files))
        self._take_rows("", above)
        if "input" not in self.rate:
            raise self._unknown("the price list does not have it")
        self._take_tiers(tuple(filter(None, self.key.tier.split("+"))), above)
        for row in self._windows():
            self._take_window(row)
        self._complete_writes()
        return self._answer(above)

    def _take_list(self, use_its_windows: bool) -> None:
        if self.listed is None:
            return
        price = self.listed.standard(self.at, use_its_windows)
        self.rate |= _named(price.at(self.key.prompt_tokens))
        self._from(self.source, price.begins)

    def _take_rows(self, tier: str, above: int) -> bool:
        """Take the price rows of a tier; whether there was one."""
        rows = [row for file in self.files for row in file.prices if row.tier == tier and row.scope.holds(self.day)]
        usable = sorted((row for row in rows if row.above <= above), key=lambda row: (row.scope.own, row.above))
        for row in usable:
            self.rate |= dict(row.rates)
            self._use(row.scope)
        return bool(usable)

    def _take_tiers(self, parts: tuple[str, ...], above: int) -> None:
        """Tiers with prices of their own first, then those that multiply: they stack."""
        priced = [part for part in parts if self._take_priced_tier(part, above)]
        if len(priced) > 1:
            raise self._unknown(f"prices of the tiers {' and '.join(priced)} together are not known")
        for part in parts:
            if part not in priced:
                rows = self._modifiers(part)
                if not rows:
                    raise self._unknown(f"no price for the tier {part!r}")
                self._multiply(rows[-1].factor, rows[-1].scope)

    def _take_priced_tier(self, part: str, above: int) -> bool:
        """Take the prices of a tier from rows or list, unless the user's file has a factor for it."""
        if self._take_rows(part, above):
            return True
        if self.listed is None or not self.listed.tier(part) or any(row.scope.own for row in self._modifiers(part)):
            return False
        self._take_listed_tier(part, self.listed)
        return True

    def _modifiers(self, part: str) -> list[ModifierRow]:
        every = [row for file in self.files for row in file.modifiers]
        return [row for row in every if row.tier == part and row.scope.holds(self.day)]

    def _take_listed_tier(self, part: str, listed: ListedModel) -> None:
        """The list's rates for the tier. Before their first day: in the ratio that they had to the standard then."""
        prices = listed.tier(part)
        begun = [price for price in prices if price.holds(self.at)]
        if begun:
            for price in reversed(begun):  # the first listed wins
                self.rate |= _named(price.at(self.key.prompt_tokens))
                self._from(self.source, price.begins)
            return
        first = min(prices, key=lambda price: price.begins or date.min)
        begins = first.begins or self.day
        standard = listed.standard(datetime.combine(begins, self.at.timetz()), windows=False)
        self._scale(first, standard)
        self.notes.append(f"tier {part!r} is listed from {begins}; its ratio of then is used")

    def _scale(self, tier: ListPrice, standard: ListPrice) -> None:
        mine, theirs = _named(tier.at(self.key.prompt_tokens)), _named(standard.at(self.key.prompt_tokens))
        for name, rate in mine.items():
            if theirs.get(name) and name in self.rate:
                self.rate[name] *= rate / theirs[name]

    def _windows(self) -> list[WindowRow]:
        """Windows of the day. The user's replace ours: both would multiply."""
        held = [row for file in self.files for row in file.windows if row.scope.holds(self.day)]
        return [row for row in held if row.scope.own] or held

    def _take_window(self, row: WindowRow) -> None:
        named = [h for file in self.files for h in file.holidays if h.name == row.holidays]
        if row.open(self.at, frozenset(day for h in named for day in h.days)):
            self._multiply(row.factor, row.scope)
        if named and self.day > max(h.known_to for h in named):
            self.notes.append(f"holidays are known to {max(h.known_to for h in named)} only")

    def _multiply(self, factor: Decimal, scope: Scope) -> None:
        self.rate = {name: rate * factor for name, rate in self.rate.items()}
        self._use(scope)

    def _unknown(self, reason: str) -> UnknownPrice:
        return UnknownPrice(self.key.model, self.key.provider, reason)

    def _complete_writes(self) -> None:
        for file in self.files:
            for row in file.writes:
                name = f"cache_write:{row.lifetime}"
                if row.scope.holds(self.day) and (row.scope.own or name not in self.rate):
                    self.rate[name] = self.rate["input"] * row.of_input
                    self.write_notes[row.lifetime] = _remark(row.scope)

    def _use(self, scope: Scope) -> None:
        self._from(scope.where, scope.valid_from)
        if remark := _remark(scope):
            self.notes.append(remark)

    def _from(self, source: str, begins: date | None) -> None:
        self.sources.append(source)
        if begins is not None:
            self.since = begins if self.since is None else max(self.since, begins)

    def _answer(self, above: int) -> Rates:
        per_token = {name: (rate * PER_MILLION).normalize() for name, rate in self.rate.items()}
        if "cache_read" not in per_token:
            self.notes.append("no read price is listed: reads cost what input costs")
        writes = {name.partition(":")[2]: rate for name, rate in per_token.items() if name.startswith("cache_write:")}
        if writes.keys().isdisjoint(DEFAULT_LIFETIMES):  # not billed apart: written tokens are input tokens
            writes[""] = per_token["input"]
        return Rates(
            provider=self.key.provider,
            model=self.listed.id if self.listed else self.key.model,
            input=per_token["input"],
            cache_read=per_token.get("cache_read", per_token["input"]),
            cache_writes=tuple(
                WriteRate(name, writes[name], self.write_notes.get(name, "")) for name in sorted(writes)
            ),
            output=per_token.get("output"),
            source="; ".join(dict.fromkeys(self.sources)),
            valid_from=self.since,
            tier=self.key.tier,
            above=above,
            notes=tuple(dict.fromkeys(self.notes)),
        )


def _remark(scope: Scope) -> str:
    """What the reader of a cost must know of a row: its own note, and that no provider's document stands behind it."""
    weak = "" if scope.evidence == "official" else f"{scope.evidence}: {scope.source}"
    return "; ".join(filter(None, (weak, scope.note)))


def _named(rates: dict[str, Decimal]) -> dict[str, Decimal]:
    """The list's classes by our names: writes by lifetime."""
    names = {"cache_write": "cache_write:", "cache_write_1h": "cache_write:1h"}
    return {names.get(name, name): rate for name, rate in rates.items()}
