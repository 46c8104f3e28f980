"""What a cause is decided on, and what is decided."""

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from hitledger.expect import Expectation
from hitledger.policies.rule import Rule
from hitledger.policies.rules import DEFAULTS
from hitledger.prefix import Difference, first_difference
from hitledger.types import Call, Parameter, Prompt, Tier


class Confidence(StrEnum):
    """How sure a cause is: shown by the log itself, the usual reading, or one reading among others."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Change(Struct, frozen=True):
    """A parameter or route field that differs between two calls; None where one of them has none."""

    name: str
    before: Parameter | None
    after: Parameter | None

    @property
    def path(self) -> str:
        """Where it stands."""
        found = self.after or self.before
        return found.path if found else ""


class Case(Struct, frozen=True, dict=True):
    """A call that read less than its predecessor left readable."""

    call: Call
    before: Call  # the predecessor
    rule: Rule | None
    expectation: Expectation | None
    prompt_before: Prompt  # both in the order of the rule
    prompt: Prompt
    used_before: Prompt  # both as the server uses them (earlier thinking removed)
    used: Prompt
    difference: Difference  # of the prompts as sent
    boundary: int  # segments of the predecessor's prompt behind which a change costs nothing
    parameters: tuple[Change, ...]
    route: tuple[Change, ...]
    readable_before: int
    read: int
    gap_seconds: float | None  # from start to start
    ttl_seconds: int | None
    side: bool

    @cached_property
    def effective(self) -> Difference:
        """The first difference of the prompts as the server uses them. Few causes ask, and rows are read for it."""
        if self.used_before is self.prompt_before and self.used is self.prompt:
            return self.difference
        return first_difference(self.used_before, self.used)

    @property
    def lost(self) -> int:
        """Tokens that were readable and were not read."""
        return max(0, self.readable_before - self.read)

    @property
    def content_changed(self) -> bool:
        """Whether anything in front of the readable end differs."""
        return not self.difference.append_only and self.difference.index < self.boundary


class Diagnosis(Struct, frozen=True):
    """A cause with its place. `path` "" means: where the content first differs."""

    cause: str
    confidence: Confidence
    path: str = ""
    note: str = ""
    offset: int | None = None  # characters into the value at `path`
    before: str | None = None  # the changed value, where it is not the first difference's
    after: str | None = None


def changes(before: Sequence[Parameter], after: Sequence[Parameter]) -> tuple[Change, ...]:
    """Fields that differ, by name; one that names a default equals one left out."""
    if before is after:  # of most calls of one client
        return ()
    old, new = {p.name: p for p in before}, {p.name: p for p in after}
    return tuple(
        Change(name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if _meaning(old.get(name)) != _meaning(new.get(name))
    )


def _meaning(parameter: Parameter | None) -> str | None:
    """The value, None also for one that says what leaving the field out says."""
    if parameter is None or parameter.value in DEFAULTS.get(parameter.name, ()):
        return None
    return parameter.value


def tier_start(prompt: Prompt, tier: Tier) -> int:
    """Index of the first segment of a tier; the prompt's length where there is none."""
    return next((i for i, segment in enumerate(prompt.segments()) if segment.tier is tier), len(prompt))
