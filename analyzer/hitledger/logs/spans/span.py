"""A span as every exporter means it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

Key = tuple[str, str]  # trace and span id: what identifies a span however often it is exported


class Role(StrEnum):
    """What a span is for the audit."""

    CALL = "call"  # a model ran: one request, one response
    OUTER = "outer span"  # repeats what the calls inside it report
    AGENT = "agent span"
    TOOL = "tool span"
    EMBEDDING = "embedding"
    OTHER = "other span"


@dataclass(frozen=True, slots=True)
class Event:
    """A span event."""

    name: str
    at: datetime | None
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Attribute names are dotted and flat, values as JSON has them."""

    trace: str
    id: str
    parent: str  # "" for a root
    name: str
    attributes: Mapping[str, Any]
    scope: str = ""  # the instrumentation that wrote it
    resource: Mapping[str, Any] | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    events: tuple[Event, ...] = ()
    failed: bool = False

    def text(self, *names: str) -> str:
        """The first of the attributes that is a non-empty string, "" for none."""
        for name in names:
            value = self.attributes.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.trace, self.id
