"""Prefixes that live and end together.

A call uses the prefix that it reads and all in front of it, and a long session has one for each of its calls. So
prefixes that stand one behind the other, and were last used by the same call with the same lifetime, share one life:
using it uses all of them at once, and a session costs what it adds.
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec


class Life(msgspec.Struct, eq=False):
    """When some prefixes, one behind the other, were last used, and how long they live from then on."""

    used: datetime | None  # last write or read
    ttl: str
    user: int  # index of the call that used them last
    front: "Held | None"  # the prefix in front of the shortest of them: it has another life
    visible: datetime | None = None  # from when on they can be read once they had expired and were written anew
    last: "Held" = msgspec.UNSET  # type: ignore[assignment]  # the longest of them: each puts itself here


class Held(msgspec.Struct, eq=False):
    """A prefix that a cache holds."""

    visible: datetime | None  # from when on it can be read
    parent: "Held | None"  # the longest one known in front of it
    life: Life

    def __post_init__(self) -> None:
        self.life.last = self


def life_behind(front: Held | None, used: datetime | None, ttl: str, user: int) -> Life:
    """For what a call writes behind a prefix: the life of that one where the same call used it, else a new one."""
    if front is not None:
        life = front.life
        if life.user == user and life.ttl == ttl:
            if life.last is not front:
                _end_at(front)
            return life
    return Life(used, ttl, user, front)


def renew(held: Held, used: datetime | None, ttl: str, user: int) -> None:
    """Written again while it lives: it alone is used, and has the lifetime of the write."""
    life = held.life
    if life.user == user and life.ttl == ttl:
        return
    if life.last is not held:
        _end_at(held)
    parent = held.parent
    if parent is not None and parent.life is life:
        life.last = parent
    held.life = Life(used, ttl, user, parent, life.visible, held)


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
    behind = Life(life.used, life.ttl, life.user, held, life.visible, life.last)
    node = life.last
    while node is not held:
        node.life = behind
        node = node.parent  # type: ignore[assignment]  # those of one life lead to each other
    life.last = held
