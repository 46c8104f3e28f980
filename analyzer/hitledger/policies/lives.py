"""Prefixes that a cache holds, and those that live and end together.

A call uses the prefix that it reads and all in front of it, and a long session has one for each of its calls. So
prefixes that stand one behind the other, and were last used by the same call with the same lifetime, share one life:
using it uses all of them at once, and a session costs what it adds.
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from hitledger.policies.rule import Rule


class Life:
    """When some prefixes, one behind the other, were last used, and how long they live from then on."""

    # No struct: its fields are set for each call, which takes a struct ten times as long.
    __slots__ = ("front", "last", "seconds", "ttl", "used", "user", "visible")

    def __init__(
        self,
        used: datetime | None,
        ttl: str,
        seconds: int | None,
        user: int,
        front: "Held | None",
        visible: datetime | None = None,
    ) -> None:
        self.used = used  # last write or read
        self.ttl = ttl
        self.seconds = seconds  # the lifetime; None where it is not published
        self.user = user  # index of the call that used them last
        self.front = front  # the prefix in front of the shortest of them: it has another life
        self.visible = visible  # from when on they can be read once they had expired and were written anew
        self.last: Held  # the longest of them: each puts itself here


class Held(msgspec.Struct, eq=False):
    """A prefix that a cache holds."""

    visible: datetime | None  # from when on it can be read
    parent: "Held | None"  # the longest one known in front of it
    life: Life

    def __post_init__(self) -> None:
        self.life.last = self


class MarkedEntry(Held, eq=False):
    """A prefix up to a mark."""

    tokens: int
    source: int  # index of the call that wrote it
    exact: bool  # whether `tokens` is a logged figure


def life_behind(front: Held | None, rule: Rule, ttl: str, used: datetime | None, user: int) -> Life:
    """For what a call writes behind a prefix: the life of that one where the same call used it, else a new one."""
    if front is not None:
        life = front.life
        if life.user == user and life.ttl == ttl:
            if life.last is not front:
                _end_at(front)
            return life
    return Life(used, ttl, rule.seconds(ttl), user, front)


def renew(held: Held, rule: Rule, ttl: str, used: datetime | None, user: int) -> None:
    """Written again while it lives: it alone is used, and has the lifetime of the write."""
    life = held.life
    if life.user == user and life.ttl == ttl:
        return
    if life.last is not held:
        _end_at(held)
    parent = held.parent
    if parent is not None and parent.life is life:
        life.last = parent
    held.life = Life(used, ttl, rule.seconds(ttl), user, parent, life.visible)
    held.life.last = held


def lives_of(held: Held) -> Iterator[Life]:
    """Its life and those of all prefixes in front of it, which alone have them from here on."""
    front: Held | None = held
    while front is not None:
        life = front.life
        if life.last is not front:
            _end_at(front)
        yield life
        front = life.front


def _end_at(held: Held) -> None:
    """The prefixes behind one in its life get a life of their own: from here on it is used without them."""
    life = held.life
    behind = Life(life.used, life.ttl, life.seconds, life.user, held, life.visible)
    behind.last = node = life.last
    while node is not held:
        node.life = behind
        node = node.parent  # type: ignore[assignment]  # those of one life lead to each other
    life.last = held


def alive(life: Life, now: datetime | None) -> bool:
    """Whether the lifetime has not run out; unknown times and unpublished lifetimes never expire."""
    if now is None or life.used is None or life.seconds is None:
        return True
    return (now - life.used).total_seconds() <= life.seconds


def visible(held: Held, now: datetime | None) -> bool:
    """Whether it can be read yet, if it lives."""
    if now is None:
        return True
    again = held.life.visible
    return (held.visible is None or held.visible <= now) and (again is None or again <= now)
