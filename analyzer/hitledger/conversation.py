"""A prompt's segments as chat messages again, for whatever renders a chat template."""

from typing import Any

from hitledger.layouts.blocks import json_value
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
    return [json_value(segment.text) for segment in prompt.segments() if segment.kind is Kind.TOOL]


def _add(message: dict[str, Any], segment: Segment) -> None:
    text = segment.text or ""
    if segment.kind is Kind.TOOL_USE:
        message.setdefault("tool_calls", []).append(json_value(segment.text))
    elif segment.kind is Kind.THINKING and segment.path.endswith("reasoning_content"):
        message["reasoning_content"] = text
    elif segment.kind is Kind.TOOL_RESULT and segment.role in ("tool", "function"):
        value = json_value(segment.text)
        if isinstance(value, dict):
            message.update(value)
    else:
        separator = "\n" if message["content"] and segment.kind in INLINE else ""
        message["content"] += separator + text
