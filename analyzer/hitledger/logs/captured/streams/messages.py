"""Anthropic Messages events as one message."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from hitledger.logs.fields import text

_TYPES = frozenset({"message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta"})
# delta type -> (field of the delta, field of the block it adds to)
_ADDS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


def speaks(event: Mapping[str, Any]) -> bool:
    """Whether the event is of this API."""
    return text(event.get("type")) in _TYPES


def fold(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], bool]:
    """The message, and whether its end was seen.

    Figures of `message_delta` are cumulative and replace those of `message_start` (Messages streaming reference). The
    output figure of `message_start` is a placeholder: without a `message_delta` the output stays unknown.
    """
    message: dict[str, Any] = {"type": "message", "role": "assistant"}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    counted = stopped = False
    for event in events:
        kind = event.get("type")
        if kind == "message_start" and isinstance(event.get("message"), Mapping):
            message |= event["message"]
            usage |= _figures(message.get("usage"))
        elif kind == "message_delta":
            counted = True
            usage |= _figures(event.get("usage"))
            message |= _figures(event.get("delta"))
        elif kind == "message_stop":
            stopped = True
        elif kind == "error":
            message["error"] = event.get("error")
        else:
            _add_to_block(blocks, event)
    if not counted:
        usage.pop("output_tokens", None)
    message["usage"] = usage or None
    message["content"] = [_closed(blocks[index]) for index in sorted(blocks)]
    return message, stopped


def _figures(value: Any) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, Mapping) else {}


def _add_to_block(blocks: dict[int, dict[str, Any]], event: Mapping[str, Any]) -> None:
    index, start, delta = event.get("index"), event.get("content_block"), event.get("delta")
    if not isinstance(index, int):
        return
    if event.get("type") == "content_block_start" and isinstance(start, Mapping):
        blocks[index] = dict(start)
    elif isinstance(delta, Mapping):
        block = blocks.setdefault(index, {"type": "text"})
        kind = str(delta.get("type"))
        if kind == "input_json_delta":
            block["partial_json"] = block.get("partial_json", "") + str(delta.get("partial_json") or "")
        elif kind in _ADDS:
            source, target = _ADDS[kind]
            block[target] = str(block.get(target) or "") + str(delta.get(source) or "")


def _closed(block: dict[str, Any]) -> dict[str, Any]:
    """The block with its tool input parsed, left as text where the stream was cut inside it."""
    partial = block.pop("partial_json", None)
    if partial:
        try:
            block["input"] = orjson.loads(partial)
        except orjson.JSONDecodeError:
            block["input"] = partial
    return block
