"""One request as its rows come in, and the call that it becomes."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import PurePath
from sys import intern
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

from hitledger.logs.claude_code.blocks import chars_of
from hitledger.logs.claude_code.row import Message, Row
from hitledger.logs.files import row_value
from hitledger.providers import provider_of
from hitledger.segments import Api
from hitledger.types import Call, Evidence, Parameter, Place, Prompt, Usage
from hitledger.usage import read_usage, served_tier

CHARS_PER_TOKEN = 4
# Some versions (2.1.9 to 2.1.25 always, others now and then) log the count of the stream's first event, 1 to 9 tokens.
PLACEHOLDER_MAX = 50
PLACEHOLDER_SHARE = 0.2  # less than this share of what the content comes to is no count of it
BEDROCK_ID, VERTEX_ID = "msg_bdrk_", "msg_vrtx_"
PURPOSES = {
    "compact": "compaction",
    "prompt_suggestion": "suggestion",
    "session_memory": "memory",
    "extract_memories": "memory",
    "side_question": "side_question",
}
AGENT_PURPOSE = re.compile(r"a([a-z_]+)-")


class Request(msgspec.Struct, eq=False):
    """Rows with one (message.id, requestId): the prompt in front of them and what they add up to."""

    file: str
    id: str
    first: Row
    message: Any  # its id
    number: int  # of its first row
    prompt: Prompt
    agent: str
    parent_agent: str
    started: Any  # timestamp of the last input before it, else of its first row
    events: tuple[str, ...]
    evidence: Evidence
    ended: Any = None
    usage: Mapping[str, Any] | None = None  # of the row with the most output tokens
    output: int = -1
    lines: list[bytes] = []  # rows of the answer
    estimated: int | None = None  # output tokens by what was written, where the log has only a placeholder
    copied: bool = False  # another file has this call already
    reason: str | None = None
    notes: list[str] = []

    def add(self, row: Row, message: Message, line: bytes) -> None:
        """One more row of the answer. The prompt figures are the same on all of them, the output grows."""
        self.ended = row.timestamp
        self.lines.append(line)
        usage = message.usage
        if type(usage) is dict:
            output = usage.get("output_tokens")
            if type(output) is not int:
                output = 0
            if output >= self.output:
                self.usage, self.output = usage, output
        if message.diagnostics is not None:
            self.reason = miss_reason(message.diagnostics) or self.reason

    def close(self) -> Call:
        """The answer is complete: the call that these rows are.

        Where its count is too small to be one, the output is estimated from what was written.
        """
        if 0 <= self.output <= PLACEHOLDER_MAX:
            chars = sum([chars_of(_content(line)) for line in self.lines])
            if self.output < chars / CHARS_PER_TOKEN * PLACEHOLDER_SHARE:
                self.estimated = round(chars / CHARS_PER_TOKEN)
        usage = self._usage()
        notes = self.notes
        started, ended = instant(self.started), instant(self.ended)
        if started is not None:
            notes.append("start_estimated")
        raw, first = self.usage or {}, self.first
        model = intern(str(first.message.model or "")) if first.message is not None else ""
        return Call(
            self.id,
            intern(str(first.sessionId or PurePath(self.file).stem)),
            self.agent,
            Place(self.file, self.number),
            _provider(self.id, model),
            model,
            self.evidence,
            self.prompt,
            Api.MESSAGES.value,  # plain: what it is looked up by is hashed faster
            started_at=started if started is None or ended is None or started <= ended else ended,
            ended_at=ended,
            usage=usage,
            parameters=_parameters(first.effort, raw.get("speed")),
            logged_cost=_money(first.costUSD),
            provider_reason=self.reason,
            events=self.events,
            purpose=_purpose(self.agent),
            parent_agent=self.parent_agent,
            project=_last_part(first.cwd) if type(first.cwd) is str else "",
            tier=_tier(raw),
            notes=tuple(notes),
        )

    def _usage(self) -> Usage | None:
        if self.usage is None:
            self.notes.append("no_usage")
            return None
        usage, notes = read_usage(self.usage)
        self.notes.extend(notes)
        if usage is None or not usage.input_tokens:  # no prompt is empty: zeros are a count that was never made
            self.notes.append("no_usage")
            return None
        if self.estimated is not None and usage.output_tokens is not None:
            self.notes.append("output_estimated")
            return replace(usage, output_tokens=self.estimated, output_estimated=True)
        return usage


def _content(line: bytes) -> Any:
    row: Any = row_value(line)
    return row["message"].get("content")


def instant(stamp: Any) -> datetime | None:
    """A row's timestamp, None where it has none that can be read."""
    try:
        found = datetime.fromisoformat(stamp)
    except (TypeError, ValueError):
        return None
    if found.tzinfo is UTC:
        return found
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def miss_reason(diagnostics: Any) -> str | None:
    """The provider's own reason for a cache miss; None where it saw none."""
    reason = diagnostics.get("cache_miss_reason") if isinstance(diagnostics, dict) else None
    kind = reason.get("type") if isinstance(reason, dict) else reason
    return kind if isinstance(kind, str) and kind != "none" else None


def _money(cost: Any) -> Decimal | None:
    """The cost that versions before 1.0.9 logged, in USD."""
    return Decimal(str(cost)) if type(cost) in (int, float) and cost > 0 else None


@lru_cache(maxsize=64)
def _named(model: str) -> str:
    return provider_of(model)


def _provider(identifier: str, model: str) -> str:
    if identifier.startswith(BEDROCK_ID):
        return "bedrock"
    if identifier.startswith(VERTEX_ID):
        return "vertex"
    return _named(model)


def _tier(usage: Mapping[str, Any]) -> str:
    """What was served beside the standard. Nearly all rows say only that it was the standard."""
    if usage.get("service_tier") == "standard" and usage.get("speed") in (None, "standard"):
        geo = usage.get("inference_geo")
        if geo is None or geo == "not_available":
            return ""
    return served_tier(usage)


def _parameters(effort: Any, speed: Any) -> tuple[Parameter, ...]:
    if effort is None and speed is None:
        return ()
    found = []
    if isinstance(effort, str):
        found.append(Parameter("effort", "effort", orjson.dumps(effort).decode()))
    if isinstance(speed, str) and speed != "standard":  # standard is what a request without the field gets
        found.append(Parameter("speed", "message.usage.speed", orjson.dumps(speed).decode()))
    return tuple(found)


@lru_cache(maxsize=64)
def _last_part(folder: str) -> str:
    """The name of the working folder without the path to it, which is nobody's business."""
    return re.split(r"[\\/]", folder.rstrip("\\/"))[-1]


@lru_cache(maxsize=64)
def _purpose(agent: str) -> str:
    """What a side call is for: its agent is named after it (`acompact-…`)."""
    match = AGENT_PURPOSE.match(agent)
    return PURPOSES.get(match[1], match[1]) if match else ""
