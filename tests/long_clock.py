"""Times and texts of the sessions that `long_sessions.py` writes."""

from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 3, 1, tzinfo=UTC)
STEP = 500  # tokens that each call adds

Row = dict[str, Any]


class Clock:
    """Times of one session; `pause` seconds between two calls."""

    def __init__(self, pause: int) -> None:
        self.pause = pause

    def at(self, call: int) -> datetime:
        """When a call was sent."""
        return START + timedelta(seconds=self.pause * call)

    def iso(self, call: int, after: int = 0) -> str:
        """The same as text, some seconds later."""
        return (self.at(call) + timedelta(seconds=after)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def milliseconds(self, call: int) -> int:
        """The same since 1970."""
        return int(self.at(call).timestamp() * 1000)


def result(call: int) -> str:
    """What a tool answered."""
    return f"line {call} of a file\n" * 5


def page(call: int) -> str:
    """A longer answer: detection reads a document's first 64 KiB, and the shortest session has to hold more."""
    return f"line {call} of a file\n" * 60
