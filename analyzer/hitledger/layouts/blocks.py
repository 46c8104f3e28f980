"""The pieces all layouts are made of: cache marks taken off, images reduced to a digest, blocks as text."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson
from msgspec import Struct

from hitledger.types import Kind, Tier

MARK_KEYS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
DEFAULT_TTL = {"cache_control": "5m", "prompt_cache_breakpoint": "30m", "cachePoint": "5m"}
# What only transport or an SDK adds and no provider puts into the prompt.
NOT_CONTENT = frozenset(MARK_KEYS)
LONG_DATA = 256  # base64 of an image or document: longer strings under these keys become a digest
DATA_KEYS = frozenset({"data", "url", "file_data", "bytes", "image_url"})


class Piece(Struct, frozen=True):
    """A segment to be: content as the log has it, before it is given a digest."""

    kind: Kind
    tier: Tier
    path: str
    role: str
    text: str
    mark: str | None = None
    opens_message: bool = False
    name: str = ""


def mark_of(block: Any) -> str | None:
    """The lifetime of the cache mark on a block, None where it has none."""
    if not isinstance(block, Mapping):
        return None
    for key in MARK_KEYS:
        value = block.get(key)
        if isinstance(value, Mapping) and value.get("mode") != "none":
            return str(value.get("ttl") or DEFAULT_TTL[key])
    return None


def unmarked(value: Any) -> Any:
    """The same content without cache marks, at any depth; long binary data become a digest."""
    if isinstance(value, Mapping):
        return {key: _data(key, item) for key, item in value.items() if key not in NOT_CONTENT}
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    return value


def _data(key: str, value: Any) -> Any:
    if key in DATA_KEYS and isinstance(value, str) and len(value) > LONG_DATA:
        return f"blake2b:{blake2b(value.encode(errors='replace'), digest_size=16).hexdigest()}:{len(value)}"
    return unmarked(value)


def json_text(value: Any) -> str:
    """Compact JSON with the keys in the order they were sent."""
    return orjson.dumps(unmarked(value), option=orjson.OPT_NON_STR_KEYS).decode()


def json_value(text: str | None) -> Any:
    """What `json_text` was written from; the text itself where it is no JSON."""
    try:
        return orjson.loads(text or "null")
    except orjson.JSONDecodeError:
        return text


KIND_OF_TYPE = {
    "tool_use": Kind.TOOL_USE,
    "server_tool_use": Kind.TOOL_USE,
    "mcp_tool_use": Kind.TOOL_USE,
    "function_call": Kind.TOOL_USE,
    "custom_tool_call": Kind.TOOL_USE,
    "local_shell_call": Kind.TOOL_USE,
    "web_search_call": Kind.TOOL_USE,
    "tool_result": Kind.TOOL_RESULT,
    "web_search_tool_result": Kind.TOOL_RESULT,
    "mcp_tool_result": Kind.TOOL_RESULT,
    "function_call_output": Kind.TOOL_RESULT,
    "custom_tool_call_output": Kind.TOOL_RESULT,
    "local_shell_call_output": Kind.TOOL_RESULT,
    "thinking": Kind.THINKING,
    "redacted_thinking": Kind.THINKING,
    "reasoning": Kind.THINKING,
    "image": Kind.IMAGE,
    "image_url": Kind.IMAGE,
    "input_image": Kind.IMAGE,
    "document": Kind.DOCUMENT,
    "file": Kind.DOCUMENT,
    "input_file": Kind.DOCUMENT,
}
TEXT_TYPES = frozenset({"text", "input_text", "output_text", "summary_text"})


def piece_of_block(block: Any, path: str, role: str, tier: Tier, opens_message: bool) -> Piece:
    """One content block: a string, a text block, or anything else as its JSON."""
    if isinstance(block, str):
        return Piece(Kind.TEXT, tier, path, role, block, None, opens_message)
    if not isinstance(block, Mapping):
        return Piece(Kind.TEXT, tier, path, role, json_text(block), None, opens_message)
    given = block.get("type")
    kind_name = given if isinstance(given, str) else ""
    text = block.get("text")
    if isinstance(text, str) and (kind_name in TEXT_TYPES or not kind_name):
        return Piece(Kind.TEXT, tier, f"{path}.text", role, text, mark_of(block), opens_message)
    kind = KIND_OF_TYPE.get(kind_name, Kind.TEXT)
    name = block.get("tool_use_id") or block.get("call_id") or block.get("id") or ""
    return Piece(kind, tier, path, role, json_text(block), mark_of(block), opens_message, str(name))


def pieces_of_content(content: Any, path: str, role: str, tier: Tier) -> list[Piece]:
    """A message's content: a string, or a list of blocks at `path[i]`."""
    if isinstance(content, list):
        return [
            piece_of_block(block, f"{path}[{index}]", role, tier, index == 0) for index, block in enumerate(content)
        ]
    if content is None:
        return []
    return [piece_of_block(content, path, role, tier, True)]


def tool_pieces(tools: Any, path: str = "tools") -> list[Piece]:
    """Tool definitions in the order sent. Deferred ones are left out: they enter the prompt only when found."""
    if not isinstance(tools, list):
        return []
    return [
        Piece(Kind.TOOL, Tier.TOOLS, f"{path}[{index}]", "", json_text(tool), mark_of(tool), False, tool_name(tool))
        for index, tool in enumerate(tools)
        if not (isinstance(tool, Mapping) and tool.get("defer_loading"))
    ]


def tool_name(tool: Any) -> str:
    """A tool's name in any of the spellings."""
    if not isinstance(tool, Mapping):
        return ""
    inner = tool.get("function") or tool.get("toolSpec") or tool
    return str((inner.get("name") if isinstance(inner, Mapping) else None) or tool.get("type") or "")
