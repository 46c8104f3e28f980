"""Shared lives against the plain way: each read walks to every entry in front of the one read."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hitledger.policies.entries import alive
from hitledger.policies.lives import MarkedEntry, begin, renew, use
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


@dataclass(slots=True)
class Plain:
    """An entry that knows its own last use."""

    used: datetime | None
    ttl: str
    parent: int | None  # by its place in the list


def walk(plain: list[Plain], index: int, now: datetime) -> None:
    """The entry read is used, and every living one in front of it."""
    plain[index].used = now
    front = plain[index].parent
    while front is not None:
        if alive(plain[front], RULE, now):
            plain[front].used = now
        front = plain[front].parent


steps = st.lists(
    st.tuples(st.sampled_from("wwwwrn"), st.integers(0, 40), st.sampled_from(("5m", "5m", "1h")), st.integers(0, 250)),
    max_size=60,
)


@given(steps)
def test_shared_lives_end_when_those_of_single_entries_do(steps: list[tuple[str, int, str, int]]) -> None:
    entries: list[MarkedEntry] = []
    plain: list[Plain] = []
    now = START
    for kind, choice, ttl, seconds in steps:
        now += timedelta(seconds=seconds)
        at = choice % len(entries) if entries and choice < 40 else None
        living = at is not None and alive(plain[at], RULE, now)
        if at is not None and living and kind == "n":
            renew(entries[at], now, ttl)
            plain[at].used, plain[at].ttl = now, ttl
            continue
        if at is not None and living:  # what stands in front of a new entry was read by the same call
            use(entries[at], RULE, now, now)
            walk(plain, at, now)
        if kind == "w":
            entries.append(MarkedEntry(1, None, len(entries), True, entries[at] if at is not None else None))
            begin(entries[-1], now, ttl)
            plain.append(Plain(now, ttl, at))
        assert [(e.life.used, e.life.ttl) for e in entries] == [(p.used, p.ttl) for p in plain]


def test_a_long_session_keeps_one_life() -> None:
    """What a call costs does not grow with the number of calls before it."""
    last: MarkedEntry | None = None
    for call in range(1000):
        now = START + timedelta(seconds=call)
        if last is not None:
            use(last, RULE, now, now)
        last = MarkedEntry(1, None, call, True, last)
        begin(last, now, "5m")
    assert last is not None and last.life.front is None


def test_a_branch_ends_by_itself() -> None:
    """Two answers go on from one prompt: using the one does not keep the other alive."""
    root = MarkedEntry(1, None, 0, True, None)
    begin(root, START, "5m")
    left, right = (MarkedEntry(2, None, number, True, root) for number in (1, 2))
    begin(left, START, "5m")
    begin(right, START, "5m")
    now = START + timedelta(minutes=4)
    use(right, RULE, now, now)
    assert (root.life.used, left.life.used, right.life.used) == (now, START, now)
