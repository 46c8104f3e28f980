"""Calls in the order in which they were sent."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hitledger.types import Call


def in_sequence(calls: Sequence[Call]) -> Sequence[int]:
    """Indices as sent: input order, but by start where an agent's calls lie in several files.

    A log that was rotated comes newest first: `app.jsonl` stands before `app.jsonl.1`.
    """
    files: dict[tuple[str, str], str] = {}
    spread: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        agent = call.session, call.agent
        if files.setdefault(agent, call.place.file) != call.place.file:
            spread[agent] = []
    order = list(range(len(calls)))
    if not spread:
        return order
    for index, call in enumerate(calls):
        if (slots := spread.get((call.session, call.agent))) is not None:
            slots.append(index)
    for slots in spread.values():
        for slot, place in zip(slots, in_time_order([calls[index] for index in slots]), strict=True):
            order[slot] = slots[place]
    return order


def in_time_order(calls: Sequence[Call]) -> list[int]:
    """Indices by start; a call without a time keeps its place behind the one before it."""
    last = datetime.min.replace(tzinfo=UTC)
    starts: list[datetime] = []
    for call in calls:
        last = call.started_at or last
        starts.append(last)
    return sorted(range(len(starts)), key=starts.__getitem__)
