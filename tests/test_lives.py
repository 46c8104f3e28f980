"""Shared lives against the plain way: each read walks to every entry in front of the one read."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hitledger.policies.lives import Held, alive, life_behind, lives_of, renew
from hitledger.policies.rule import Algorithm, Basis, Lifetime, Rule

RULE = Rule(
    id="test",
    algorithm=Algorithm.BREAKPOINTS,
    valid_from=date.min,
    evidence=Basis.OFFICIAL,
    source="",
    checked=date.min,
    lifetimes=(Lifetime("5m", 300), Lifetime("1h", 3600)),
)
START = datetime(2026, 1, 1, tzinfo=UTC)


def written(front: Held | None, now: datetime, ttl: str, user: int) -> Held:
    return Held(None, front, life_behind(front, RULE, ttl, now, user))


def read(held: Held, now: datetime, user: int) -> None:
    for life in lives_of(held):
        if alive(life, now):
            life.used, life.user = now, user


@dataclass(slots=True)
class Plain:
    """An entry that knows its own last use."""

    used: datetime
    ttl: str
    parent: int | None  # by its place in the list

    def lives(self, now: datetime) -> bool:
        return now - self.used <= timedelta(seconds={"5m": 300, "1h": 3600}[self.ttl])


def walk(plain: list[Plain], index: int, now: datetime) -> None:
    """The entry read is used, and every living one in front of it."""
    plain[index].used = now
    front = plain[index].parent
    while front is not None:
        if plain[front].lives(now):
            plain[front].used = now
        front = plain[front].parent


steps = st.lists(
    st.tuples(st.sampled_from("wwwwrn"), st.integers(0, 40), st.sampled_from(("5m", "5m", "1h")), st.integers(0, 250)),
    max_size=60,
)


@given(steps)
def test_shared_lives_end_when_those_of_single_prefixes_do(steps: list[tuple[str, int, str, int]]) -> None:
    held: list[Held] = []
    plain: list[Plain] = []
    now = START
    for user, (kind, choice, ttl, seconds) in enumerate(steps):
        now += timedelta(seconds=seconds)
        at = choice % len(held) if held and choice < 40 else None
        living = at is not None and plain[at].lives(now)
        if at is not None and living and kind == "n":
            renew(held[at], RULE, ttl, now, user)
            plain[at].used, plain[at].ttl = now, ttl
            continue
        if at is not None and living:  # what stands in front of a new one was read by the same call
            read(held[at], now, user)
            walk(plain, at, now)
        if kind == "w":
            held.append(written(held[at] if at is not None else None, now, ttl, user))
            plain.append(Plain(now, ttl, at))
        assert [(one.life.used, one.life.ttl) for one in held] == [(one.used, one.ttl) for one in plain]


def test_a_long_session_keeps_one_life() -> None:
    """What a call costs does not grow with the number of calls before it."""
    last: Held | None = None
    for call in range(1000):
        now = START + timedelta(seconds=call)
        if last is not None:
            read(last, now, call)
        last = written(last, now, "5m", call)
    assert last is not None
    assert last.life.front is None


def test_a_branch_ends_by_itself() -> None:
    """Two answers go on from one prompt: using the one does not keep the other alive."""
    root = written(None, START, "5m", 0)
    left, right = (written(root, START, "5m", 0) for _ in range(2))
    now = START + timedelta(minutes=4)
    read(right, now, 1)
    assert (root.life.used, left.life.used, right.life.used) == (now, START, now)
