"""Cache rules as dated data: one TOML file a provider, picked by provider, model, API and the call's own time."""

import tomllib
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import resources

import msgspec

from hitledger.errors import HitledgerError
from hitledger.types import Call, Tier

SCHEMA = 1
# Values that say what leaving the field out says as well: naming one of them changes nothing.
DEFAULTS: dict[str, frozenset[str]] = {
    "tool_choice": frozenset({'"auto"', '{"type":"auto"}'}),
    "parallel_tool_calls": frozenset({"true"}),
    "thinking": frozenset({'{"type":"disabled"}', "false"}),
}


class Algorithm(StrEnum):
    """How a cache finds what it can read."""

    BREAKPOINTS = "breakpoints"  # entries at marks, looked for a number of positions back from each mark
    MESSAGE_ENDS = "message_ends"  # entries at the ends of eligible messages and at marks
    UNITS = "units"  # persisted units that have to match whole
    BLOCKS = "blocks"  # the longest common prefix in full blocks
    RADIX = "radix"  # the longest common prefix by tokens
    SLOT = "slot"  # the longest common prefix with what one slot held last
    NONE = "none"  # caches nothing


class Lifetime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long an entry lives. `seconds` 0: not published."""

    id: str
    seconds: int
    write: str | None = None  # multiple of the input price, for the record


class Minimum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shortest prefix that is cached, for models matching one of the globs."""

    models: tuple[str, ...]
    tokens: int


class Invalidation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A parameter whose change loses everything from a tier on. Without `models`: for all."""

    change: str
    tier: Tier
    models: tuple[str, ...] = ()


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one provider did between two days, as far as it says so."""

    id: str
    algorithm: Algorithm
    valid_from: date
    evidence: str  # official | third-party | measured | remembered
    source: str
    checked: date
    provider: str = ""
    valid_to: date | None = None  # first day on which it no longer holds
    models: tuple[str, ...] = ("*",)
    apis: tuple[str, ...] = ()
    order: tuple[Tier, ...] = (Tier.TOOLS, Tier.SYSTEM, Tier.MESSAGES)
    max_breakpoints: int = 0
    lookback: int = 0  # positions a mark looks back over, itself included
    collapse_runs: bool = False  # a run of tool calls, or of tool results, is one position
    block: int = 1  # tokens; reads are multiples of it
    keeps_last: bool = False  # the last token is always computed: at most n - 1 can be read
    clock: str = "request_start"  # request_start | response_end
    refreshed_by_read: bool = True
    visible_after: str = "first_token"  # first_token | response_end | at_once
    default_lifetime: str = ""
    lifetimes: tuple[Lifetime, ...] = ()
    minimums: tuple[Minimum, ...] = ()
    invalidates: tuple[Invalidation, ...] = ()
    strips_thinking: tuple[str, ...] = ()  # models whose earlier thinking is dropped at a new user turn
    isolation: tuple[str, ...] = ()
    best_effort: bool = False  # nothing is promised: a miss alone proves no break
    notes: tuple[str, ...] = ()

    def minimum(self, model: str) -> int:
        """The shortest cacheable prefix of a model, in tokens; 0 where none is known."""
        return next((row.tokens for row in self.minimums if matches(model, row.models)), 0)

    def seconds(self, ttl: str) -> int | None:
        """Lifetime in seconds; None where it is not published."""
        found = next((row.seconds for row in self.lifetimes if row.id == ttl), 0)
        return found or None

    def strips(self, model: str) -> bool:
        """Whether earlier thinking is dropped by the server at a new user turn."""
        return bool(self.strips_thinking) and matches_cached(model, self.strips_thinking)

    def applies(self, provider: str, model: str, api: str, day: date) -> bool:
        """Whether the rule holds for a call."""
        return (
            provider == self.provider
            and self.valid_from <= day
            and (self.valid_to is None or day < self.valid_to)
            and (not self.apis or api in self.apis)
            and matches(model, self.models)
        )


@lru_cache(maxsize=4096)
def matches_cached(model: str, globs: tuple[str, ...]) -> bool:
    """`matches`, remembered: asked once a call."""
    return matches(model, globs)


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One TOML file. Earlier rows win, so the narrower model globs stand first."""

    schema: int
    provider: str
    rule: tuple[Rule, ...]


def matches(model: str, globs: tuple[str, ...]) -> bool:
    """Whether a model name fits one of the globs; vendor and region prefixes do not count."""
    name = model.lower().removesuffix("[1m]").rsplit("/", 1)[-1]
    for marker in ("claude-", "gpt-", "gemini-"):
        at = name.find(marker)
        if at > 0:
            name = name[at:]
    return any(fnmatchcase(name, glob) for glob in globs)


def parse(text: str, name: str) -> tuple[Rule, ...]:
    """The rules of one TOML file. Raises HitledgerError with file, row and reason."""
    try:
        file = msgspec.convert(tomllib.loads(text), RuleFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise HitledgerError(f"{name}: {error}") from error
    if file.schema != SCHEMA:
        raise HitledgerError(f"{name}: schema {file.schema}, this hitledger reads {SCHEMA}")
    rules = tuple(msgspec.structs.replace(rule, provider=file.provider) for rule in file.rule)
    for number, rule in enumerate(rules, 1):
        if rule.valid_to is not None and rule.valid_to <= rule.valid_from:
            raise HitledgerError(f"{name}: rule {number} ({rule.id}): valid_to is not after valid_from")
        _refuse_negative(name, number, rule)
        for other in rules[: number - 1]:
            if other.models == rule.models and other.apis == rule.apis and _overlap(other, rule):
                raise HitledgerError(f"{name}: rule {number} ({rule.id}) overlaps {other.id} in time")
    return rules


def _refuse_negative(name: str, number: int, rule: Rule) -> None:
    figures = [rule.max_breakpoints, rule.lookback, rule.block - 1]
    figures += [row.tokens for row in rule.minimums] + [row.seconds for row in rule.lifetimes]
    if min(figures) < 0:
        raise HitledgerError(f"{name}: rule {number} ({rule.id}): a negative number, or a block below 1")


def _overlap(first: Rule, second: Rule) -> bool:
    first_end, second_end = first.valid_to or date.max, second.valid_to or date.max
    return first.valid_from < second_end and second.valid_from < first_end


class Rules:
    """All known rules. Picks the one for a call."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.all = rules
        self._picked: dict[tuple[str, str, str, date], Rule | None] = {}

    def pick(self, call: Call) -> Rule | None:
        """The first rule that applies; None where none is published for that provider, model and day.

        A call without a time is judged by the newest rule; the caller says so.
        """
        day = call.started_at.date() if call.started_at else date.max
        key = (call.provider, call.model, call.api, day)
        if key not in self._picked:
            self._picked[key] = next((rule for rule in self.all if rule.applies(*key)), None)
        return self._picked[key]


@lru_cache(maxsize=1)
def shipped() -> Rules:
    """The rules that come with the package."""
    folder = resources.files("hitledger.policies") / "data"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return Rules(tuple(rule for item in files for rule in parse(item.read_text("utf-8"), item.name)))


def salts(rule: Rule, call: Call) -> Mapping[Tier, str]:
    """Per tier, the parameters whose change loses that tier: two prompts share it only where these are equal."""
    values = {p.name: p.value for p in call.parameters if p.value not in DEFAULTS.get(p.name, ())}
    found: dict[Tier, str] = {}
    carried = ""
    for tier in rule.order:
        names = sorted(
            row.change
            for row in rule.invalidates
            if row.tier is tier and (not row.models or matches(call.model, row.models))
        )
        carried += "".join(f"{name}={values[name]};" for name in names if name in values)
        found[tier] = carried
    return found
