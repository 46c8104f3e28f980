"""One dated cache rule as a value: what a provider did between two days, as far as it says so."""

from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from hitledger.types import Tier


class Algorithm(StrEnum):
    """How a cache finds what it can read."""

    BREAKPOINTS = "breakpoints"  # entries at marks, looked for a number of positions back from each mark
    MESSAGE_ENDS = "message_ends"  # entries at the ends of eligible messages and at marks
    UNITS = "units"  # persisted units that have to match whole
    BLOCKS = "blocks"  # the longest common prefix in full blocks
    RADIX = "radix"  # the longest common prefix by tokens, in pages
    SLOT = "slot"  # the longest common prefix with what one slot held last
    NONE = "none"  # caches nothing

    @property
    def writes_at_marks(self) -> bool:
        """Whether entries end at marks or message ends, and not wherever two prompts part."""
        return self is Algorithm.BREAKPOINTS or self is Algorithm.MESSAGE_ENDS


class Basis(StrEnum):
    """What a rule is known by, best first."""

    OFFICIAL = "official"  # the provider's own document or the engine's code
    SDK = "sdk"  # the provider's own client library
    THIRD_PARTY = "third-party"
    MEASURED = "measured"
    REMEMBERED = "remembered"


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


class ReadRate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a read costs as a multiple of the input price, for the record: money comes from the price book."""

    models: tuple[str, ...]
    rate: str


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one provider did between two days, as far as it says so."""

    id: str
    algorithm: Algorithm
    valid_from: date
    evidence: Basis
    source: str
    checked: date
    provider: str = ""
    valid_to: date | None = None  # first day on which it no longer holds
    models: tuple[str, ...] = ("*",)
    within: tuple[str, ...] = ("*",)  # models of another provider's rule that this provider passes on
    apis: tuple[str, ...] = ()
    marked: bool | None = None  # True: only for prompts with a mark, False: only for prompts without
    order: tuple[Tier, ...] = (Tier.TOOLS, Tier.SYSTEM, Tier.MESSAGES)
    max_breakpoints: int = 0
    lookback: int = 0  # positions a mark looks back over, itself included
    collapse_runs: bool = False  # a run of tool calls, or of tool results, is one position
    block: int = 1  # tokens; reads are multiples of it
    partial_blocks: bool = False  # the part of a block that matches is copied and reused too
    keeps_last: bool = False  # the last token is always computed: at most n - 1 can be read
    holds_output: bool = False  # generated tokens are readable too, where a prompt goes on with them
    slots: int = 1  # sequences that are kept at once
    similarity: float = 0.0  # share of the prompt that a slot has to have in common to be chosen for it
    host_memory: bool = False  # prompts that leave a slot are kept in memory and can come back
    empties_idle: bool = False  # slots that a request does not take are emptied into that memory
    clock: Literal["request_start", "response_end"] = "request_start"
    refreshed_by_read: bool = True
    visible_after: Literal["first_token", "response_end", "at_once"] = "first_token"
    default_lifetime: str = ""
    lifetimes: tuple[Lifetime, ...] = ()
    minimums: tuple[Minimum, ...] = ()
    read: tuple[ReadRate, ...] = ()
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
        for row in self.lifetimes:
            if row.id == ttl:
                return row.seconds or None
        return None

    def with_default(self, ttl: str) -> "Rule":
        """The same rule with another default lifetime, where it has that one."""
        known = any(row.id == ttl for row in self.lifetimes)
        return msgspec.structs.replace(self, default_lifetime=ttl) if known else self

    def strips(self, model: str) -> bool:
        """Whether earlier thinking is dropped by the server at a new user turn."""
        return matches(model, self.strips_thinking)

    def applies(self, provider: str, model: str, api: str, day: date) -> bool:
        """Whether the rule holds for a call."""
        return (
            provider == self.provider
            and self.valid_from <= day
            and (self.valid_to is None or day < self.valid_to)
            and (not self.apis or api in self.apis)
            and matches(model, self.models)
            and matches(model, self.within)
        )


def matches(model: str, globs: tuple[str, ...]) -> bool:
    """Whether a model name fits one of the globs; vendor and region prefixes do not count, nor how Claude's are dotted."""
    name = model.lower().removesuffix("[1m]").rsplit("/", 1)[-1]
    for marker in ("claude-", "gpt-", "gemini-", "nova-"):
        at = name.find(marker)
        if at > 0:
            name = name[at:]
    if name.startswith("claude-"):
        name = name.replace(".", "-")
    return any(fnmatchcase(name, glob.lower()) for glob in globs)
