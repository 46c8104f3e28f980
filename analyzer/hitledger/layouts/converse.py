"""Bedrock Converse: tools, system, messages; a cache point is an element of its own and marks what stands before it."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hitledger.layouts.blocks import Piece, json_text, mark_of, tool_name
from hitledger.types import Kind, Tier

KIND_OF_KEY = {
    "toolUse": Kind.TOOL_USE,
    "toolResult": Kind.TOOL_RESULT,
    "reasoningContent": Kind.THINKING,
    "image": Kind.IMAGE,
    "document": Kind.DOCUMENT,
    "video": Kind.DOCUMENT,
}


def pieces(body: Mapping[str, Any]) -> list[Piece]:
    """The prompt of a Converse request."""
    config = body.get("toolConfig")
    tools = config.get("tools") if isinstance(config, Mapping) else None
    found = _elements(tools, "toolConfig.tools", "", Tier.TOOLS)
    found += _elements(body.get("system"), "system", "system", Tier.SYSTEM)
    messages = body.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, Mapping):
            role = str(message.get("role", ""))
            found += _elements(message.get("content"), f"messages[{index}].content", role, Tier.MESSAGES)
    return found


def _elements(elements: Any, path: str, role: str, tier: Tier) -> list[Piece]:
    found: list[Piece] = []
    for index, element in enumerate(elements if isinstance(elements, list) else ()):
        if isinstance(element, Mapping) and "cachePoint" in element:
            if found:
                found[-1] = replace(found[-1], mark=mark_of(element))
            continue
        found.append(_piece(element, f"{path}[{index}]", role, tier, opens=not found and tier is Tier.MESSAGES))
    return found


def _piece(element: Any, path: str, role: str, tier: Tier, opens: bool) -> Piece:
    if isinstance(element, Mapping) and isinstance(element.get("text"), str):
        kind = Kind.SYSTEM if tier is Tier.SYSTEM else Kind.TEXT
        return Piece(kind, tier, f"{path}.text", role, element["text"], None, opens)
    if tier is Tier.TOOLS:
        return Piece(Kind.TOOL, tier, path, role, json_text(element), None, False, tool_name(element))
    keys = element.keys() if isinstance(element, Mapping) else ()
    kind = next((KIND_OF_KEY[key] for key in keys if key in KIND_OF_KEY), Kind.TEXT)
    inner = element.get("toolUse") or element.get("toolResult") if isinstance(element, Mapping) else None
    name = str(inner.get("toolUseId", "")) if isinstance(inner, Mapping) else ""
    return Piece(kind, tier, path, role, json_text(element), None, opens, name)
