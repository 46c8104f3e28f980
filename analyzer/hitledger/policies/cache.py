"""What all simulators share: the protocol and what they answer."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

import msgspec

from hitledger.policies.lives import MarkedEntry
from hitledger.policies.view import View
from hitledger.policies.writes import Writes, written_behind

AN_INSTANT = timedelta(microseconds=1)


class Obstacle(StrEnum):
    """Why an entry that holds a longer prefix of the prompt could not be read."""

    EXPIRED = "expired"
    NOT_YET_VISIBLE = "not-yet-visible"
    BEYOND_LOOKBACK = "beyond-lookback"
    BEHIND_MARKS = "behind-marks"  # every mark of the request stands in front of it, or there is none


class Forecast(msgspec.Struct, frozen=True, gc=False):
    """What the rule makes readable for one prompt, before it is sent."""

    read: int  # tokens
    source: int | None  # index of the call that wrote the entry read; None where nothing is read
    position: int = 0  # segments covered
    exact: bool = False  # whether `read` rests on logged figures alone
    entry: MarkedEntry | None = None  # what is read, where entries stand at marks
    marks: View | None = None  # the prompt, where the rule writes at its marks; None: what it writes is not billed

    @property
    def writes(self) -> Writes:
        """Tokens written behind what is read, by lifetime. Worked out for who asks: usage that is logged says it."""
        return () if self.marks is None else written_behind(self.marks, self.read)

    @property
    def written(self) -> int:
        """Tokens written, whatever their lifetime."""
        writes = self.writes
        return writes[0][1] if len(writes) == 1 else sum([tokens for _, tokens in writes])


class Blocked(msgspec.Struct, frozen=True, gc=False):
    """A longer entry that was there but out of reach."""

    obstacle: Obstacle
    source: int
    tokens: int
    longest: int  # tokens of the longest entry that matches the prompt, expired or not
    positions_back: int | None = None


class Cache(Protocol):
    """The cache of one key (provider, model, account, route)."""

    def forecast(self, view: View, now: datetime | None) -> Forecast:
        """What can be read now."""

    def blocked(self, view: View, now: datetime | None, forecast: Forecast, more: bool) -> Blocked | None:
        """An entry beyond what is read that matches the prompt and still cannot be read.

        `more`: the log says that more was read, so shorter prefixes are asked as well. A client that cuts text out of
        its prompt leaves such as hold more tokens.
        """

    def store(self, view: View, index: int, forecast: Forecast) -> int:
        """Take in the call's prompt; returns how many tokens it left readable."""


def visible_from(view: View) -> datetime | None:
    """When what this call writes becomes readable, by the rule; None: at once."""
    call = view.call
    if view.rule.visible_after == "at_once":
        return None
    if view.rule.visible_after == "response_end":
        return call.ended_at or call.first_token_at or call.started_at
    if call.first_token_at is not None:
        return call.first_token_at
    # Without a logged first token the earliest that is not the request's own instant is assumed.
    return call.started_at + AN_INSTANT if call.started_at is not None else None


def used_at(view: View) -> datetime | None:
    """When the lifetime of what this call uses starts, by the rule."""
    if view.rule.clock == "response_end" and view.call.ended_at is not None:
        return view.call.ended_at
    return view.call.started_at
