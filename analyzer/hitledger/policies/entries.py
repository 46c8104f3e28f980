"""Readable prefixes: until when one lives, and from when on it can be read."""

from datetime import datetime
from typing import Protocol

import msgspec

from hitledger.policies.lives import Held
from hitledger.policies.rule import Rule


class Used(Protocol):
    """What lives for some time from its last use on."""

    ttl: str
    used: datetime | None  # last write or read


class Awaited(Protocol):
    """What can be read from some time on."""

    visible: datetime | None


class MarkedEntry(Held, eq=False):
    """A readable prefix up to a mark."""

    tokens: int
    source: int  # index of the call that wrote it
    exact: bool  # whether `tokens` is a logged figure


class Entry(msgspec.Struct, eq=False):
    """A readable prefix that lives by itself."""

    ttl: str
    used: datetime | None
    visible: datetime | None
    source: int  # index of the call that wrote it


def alive(entry: Used, rule: Rule, now: datetime | None) -> bool:
    """Whether the lifetime has not run out; unknown times and unpublished lifetimes never expire."""
    if now is None or entry.used is None:
        return True
    seconds = rule.seconds(entry.ttl)
    return seconds is None or (now - entry.used).total_seconds() <= seconds


def visible(entry: Awaited, now: datetime | None) -> bool:
    """Whether the entry can be read yet."""
    return now is None or entry.visible is None or entry.visible <= now
