"""A prompt's segments as chat messages again, for whatever renders a chat template."""

from typing import Any

import orjson

from hitledger.types import Kind, Prompt, Segment

INLINE = (Kind.TEXT, Kind.SYSTEM, Kind.THINKING)


def chat_messages(prompt: Prompt) -> list[dict[str, Any]]:
    """Messages with role, content, reasoning_content and tool_calls, as chat templates expect them."""
    found: list[dict[str, Any]] = []
    for segment in prompt.segments():
        if segment.kind in (Kind.TOOL, Kind.SCHEMA, Kind.HIDDEN, Kind.TOKENS):
            continue
        if segment.opens_message or not found or found[-1]["role"] != segment.role:
            found.append({"role": segment.role, "content": ""})
        _add(found[-1], segment)
    return found


def tool_list(prompt: Prompt) -> list[Any]:
    """The tool definitions as they were sent."""
    return [_value(segment) for segment in prompt.segments() if segment.kind is Kind.TOOL]


def _add(message: dict[str, Any], segment: Segment) -> None:
    text = segment.text or ""
    if segment.kind is Kind.TOOL_USE:
        message.setdefault("tool_calls", []).append(_value(segment))
    elif segment.kind is Kind.THINKING and segment.path.endswith("reasoning_content"):
        message["reasoning_content"] = text
    elif segment.kind is Kind.TOOL_RESULT and segment.role in ("tool", "function"):
        value = _value(segment)
        if isinstance(value, dict):
            message.update(value)
    else:
        separator = "\n" if message["content"] and segment.kind in INLINE else ""
        message["content"] += separator + text


def _value(segment: Segment) -> Any:
    try:
        return orjson.loads(segment.text or "null")
    except orjson.JSONDecodeError:
        return segment.text
