"""Files that are recognised and not read, each with the reason: no request in them can be counted or placed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hitledger.logs.fields import items, mapping
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.values import opening
from hitledger.types import Call

FORMAT = "refused"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a file is, why it is not read, and how its first value is known."""

    name: str
    reason: str
    knows: Callable[[Mapping[str, Any]], bool]


def _has(*keys: str, **types: str) -> Callable[[Mapping[str, Any]], bool]:
    """A test for an object with all the keys, and with these values under those keys."""
    wanted = frozenset(keys) | types.keys()

    def knows(head: Mapping[str, Any]) -> bool:
        return head.keys() >= wanted and all(head[key] == value for key, value in types.items())

    return knows


def _is_cursor(head: Mapping[str, Any]) -> bool:
    inner = head.get("message")
    return head.get("role") in ("user", "assistant") and isinstance(inner, dict) and set(inner) == {"content"}


def _is_grok_chat(head: Mapping[str, Any]) -> bool:
    return set(head) == {"type", "content"} and head["type"] == "system" and isinstance(head["content"], str)


NO_USAGE = "holds messages, but neither usage nor the time of any request"
REFUSALS = (
    Refusal("Cursor transcript", NO_USAGE, _is_cursor),
    Refusal("Grok CLI chat history", NO_USAGE, _is_grok_chat),
    Refusal("Grok CLI session summary", "describes a session, holds no request", _has("chat_format_version", "info")),
    Refusal("Antigravity log", "holds no usage, and its texts are cut", _has("step_index", "source", "status")),
    Refusal("Droid session", NO_USAGE, _has("id", "cwd", type="session_start")),
    Refusal(
        "Droid stream", "holds usage only as a total of the run", _has("session_id", "model", "cwd", type="system")
    ),
    Refusal("Droid stream", "holds usage only as a total of the run", _has("sessionId", "model", "cwd", type="system")),
    Refusal(
        "Droid stream", "holds usage only as a total of the run", _has("session_id", "role", "text", type="message")
    ),
    Refusal("Hermes session", NO_USAGE, _has("session_id", "session_start", "messages", "platform")),
    Refusal("report of VibeCodingTracker", "is not a log", _has("extensionName", "insightsVersion", "records")),
    Refusal(
        "sample of the OpenHands gateway",
        "holds what was asked of the gateway, not what it sent on",
        _has("gateway_model"),
    ),
    Refusal(
        "one message of a pi session",
        "the session around it is missing",
        _has("stopReason", "usage", "api", role="assistant"),
    ),
)
MESSAGE_LIST = Refusal(
    "list of messages", "is no log of requests: no usage, no times, no tool definitions", lambda _: False
)


def sniff(file: LogFile) -> bool:
    """One of the kinds above, by its first value."""
    return _refusal(opening(file)) is not None


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """No calls; each file is refused in `ingest` with what it is and why."""
    for file in files:
        refusal = _refusal(opening(file))
        if refusal is None:
            ingest.refuse(file.name, "not a kind of file that is known and refused")
        else:
            ingest.refuse(file.name, f"{refusal.name}: {refusal.reason}")
    yield from ()


def _refusal(head: Any) -> Refusal | None:
    if isinstance(head, list):
        return MESSAGE_LIST if _is_message_list(head) else None
    found = mapping(head)
    return next((refusal for refusal in REFUSALS if found and refusal.knows(found)), None)


def _is_message_list(rows: list[Any]) -> bool:
    """Chat messages with tool calls and nothing around them: what a run ended with, not what it sent."""
    messages = [mapping(row) for row in items(rows)]
    plain = bool(messages) and all(message.keys() >= {"role", "content"} for message in messages)
    return plain and messages[0]["role"] == "system" and any("tool_calls" in message for message in messages)
