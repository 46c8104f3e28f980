"""Entries that live and end together.

A read uses every living entry in front of the one read as well (logs show short ones outlive their last read), and a
long session has one for each of its calls. So entries that stand one behind the other, and were last used at the same
time with the same lifetime, share one life: using it uses all of them at once, and a session costs what it adds.
"""

from datetime import datetime

import msgspec

from hitledger.policies.entries import alive
from hitledger.policies.rule import Rule


class Life(msgspec.Struct, eq=False):
    """When some entries, one behind the other, were last used, and how long they live from then on."""

    used: datetime | None  # last write or read
    ttl: str
    last: "MarkedEntry"  # the longest of them
    front: "MarkedEntry | None"  # the entry in front of the shortest of them; it has another life


class MarkedEntry(msgspec.Struct, eq=False):
    """A readable prefix up to a mark."""

    tokens: int
    visible: datetime | None  # from when on it can be read
    source: int  # index of the call that wrote it
    exact: bool  # whether `tokens` is a logged figure
    parent: "MarkedEntry | None"  # the longest entry known in front of it
    life: Life = msgspec.UNSET  # type: ignore[assignment]  # given to it at once, by `begin`


def begin(entry: MarkedEntry, used: datetime | None, ttl: str) -> None:
    """A new entry: it lives as the one in front of it does, where that was used by the same call."""
    parent = entry.parent
    if parent is not None:
        life = parent.life
        if life.used is used and life.ttl == ttl:
            if life.last is not parent:
                _end_at(parent)
            life.last = entry
            entry.life = life
            return
    entry.life = Life(used, ttl, entry, parent)


def use(entry: MarkedEntry, rule: Rule, started: datetime | None, now: datetime | None) -> None:
    """A living entry is read: it and every living one in front of it is used."""
    life = entry.life
    if life.last is not entry:
        _end_at(entry)
    life.used = now
    front = life.front
    while front is not None:
        life = front.life
        if life.last is not front:
            _end_at(front)
        if alive(life, rule, started):
            life.used = now
        front = life.front


def renew(entry: MarkedEntry, used: datetime | None, ttl: str) -> None:
    """A living entry is written again: it alone is used, and has the lifetime of the write."""
    life = entry.life
    if life.used is used and life.ttl == ttl:
        return
    if life.last is not entry:
        _end_at(entry)
    parent = entry.parent
    if parent is not None and parent.life is life:
        life.last = parent
    entry.life = Life(used, ttl, entry, parent)


def _end_at(entry: MarkedEntry) -> None:
    """The entries behind one in its life get a life of their own: from here on they are no longer used as it is."""
    life = entry.life
    behind = Life(life.used, life.ttl, life.last, entry)
    node = life.last
    while node is not entry:
        node.life = behind
        node = node.parent  # type: ignore[assignment]  # entries of one life lead to each other
    life.last = entry
