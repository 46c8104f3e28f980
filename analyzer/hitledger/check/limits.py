"""The limits a change has to stay within, from flags or from `[tool.hitledger.check]` of pyproject.toml."""

import tomllib
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

import msgspec

from hitledger.errors import UsageError

TABLE = "[tool.hitledger.check]"
SHORTEST, LONGEST = 0.1, 86_400  # seconds that a renderer may be given


@dataclass(frozen=True, slots=True)
class Increase:
    """How much more a day may cost: a share of the cost before in percent, or USD."""

    limit: Decimal
    percent: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """None: not asked for. Reaching a limit is still allowed."""

    max_hit_rate_drop: Decimal | None = None  # percentage points
    max_cost_increase: Increase | None = None
    max_one_off_cost: Decimal | None = None  # USD
    max_added_tokens: Decimal | None = None  # prompt tokens a call
    no_volatile_prefix: bool = False
    no_bad_marks: bool = False

    @property
    def need_traffic(self) -> bool:
        """Whether a limit can only be measured on recorded traffic."""
        limits = (self.max_hit_rate_drop, self.max_cost_increase, self.max_one_off_cost, self.max_added_tokens)
        return any(limit is not None for limit in limits)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What the flags of `hitledger check` say, or the table in pyproject.toml; a flag wins."""

    logs: tuple[str, ...] = ()
    known: str | None = None
    max_hit_rate_drop: str | float | None = None
    max_cost_increase: str | float | None = None
    max_one_off_cost: str | float | None = None
    max_added_tokens: str | float | None = None
    no_volatile_prefix: bool = False
    no_bad_marks: bool = False
    calls_per_day: int | None = None
    render_timeout: float | None = None

    def over(self, other: "Settings") -> "Settings":
        """These settings, the other's where these say nothing."""
        silent = Settings()
        said = {name: getattr(self, name) for name in self.__struct_fields__}
        return msgspec.structs.replace(other, **{k: v for k, v in said.items() if v != getattr(silent, k)})

    def limits(self) -> Limits:
        """Raises UsageError for a value of another form, also for one beside the limits that would bend them."""
        if self.calls_per_day is not None and self.calls_per_day < 1:
            raise UsageError(f"calls-per-day {self.calls_per_day}: give a number of 1 or more")
        if self.render_timeout is not None and not SHORTEST <= self.render_timeout <= LONGEST:
            raise UsageError(f"render-timeout {self.render_timeout}: give seconds from {SHORTEST} to {LONGEST}")
        return Limits(
            _number("max-hit-rate-drop", self.max_hit_rate_drop, "%"),
            _increase(self.max_cost_increase),
            _number("max-one-off-cost", self.max_one_off_cost, "usd"),
            _number("max-added-tokens", self.max_added_tokens, "tokens"),
            self.no_volatile_prefix,
            self.no_bad_marks,
        )


def settings_in(folder: Path) -> Settings:
    """The table of the folder's pyproject.toml; empty where there is none. Raises UsageError."""
    file = folder / "pyproject.toml"
    if not file.is_file():
        return Settings()
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("hitledger", {}).get("check", {})
        return msgspec.convert(table, Settings)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"pyproject.toml: {TABLE}: {error}") from error


def _increase(value: str | float | None) -> Increase | None:
    percent = isinstance(value, str) and value.strip().endswith("%")
    limit = _number("max-cost-increase", value, "%" if percent else "usd")
    if limit is not None and not percent and not (isinstance(value, str) and value.strip().lower().endswith("usd")):
        raise UsageError(f"max-cost-increase {value}: give a share or USD a day, such as 5% or 2.50usd")
    return None if limit is None else Increase(limit, percent)


def _number(name: str, value: str | float | None, unit: str) -> Decimal | None:
    if value is None:
        return None
    try:
        found = Decimal(str(value).strip().lower().removesuffix(unit).strip())
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or found < 0:
        raise UsageError(f"{name} {value}: give a number of 0 or more, such as 5{unit}")
    return found
