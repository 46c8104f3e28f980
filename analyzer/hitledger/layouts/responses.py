"""OpenAI Responses: tools, output schema, instructions, then the input items."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hitledger.layouts.blocks import Piece, json_text, piece_of_block, pieces_of_content, tool_pieces
from hitledger.layouts.chat import SYSTEM_ROLES, schema_piece
from hitledger.types import Kind, Tier


def pieces(body: Mapping[str, Any]) -> list[Piece]:
    """The prompt of a Responses request as far as the body holds it (`previous_response_id` hides the rest)."""
    found = tool_pieces(body.get("tools"))
    text = body.get("text")
    if isinstance(text, Mapping):
        found += schema_piece(text.get("format"), "text.format")
    if isinstance(body.get("instructions"), str):
        found.append(Piece(Kind.SYSTEM, Tier.SYSTEM, "instructions", "system", body["instructions"]))
    items = body.get("input")
    if isinstance(items, str):
        found.append(Piece(Kind.TEXT, Tier.MESSAGES, "input", "user", items, None, True))
    in_head = True
    for index, item in enumerate(items if isinstance(items, list) else ()):
        role = str(item.get("role", "")) if isinstance(item, Mapping) else ""
        in_head = in_head and role in SYSTEM_ROLES
        found += item_pieces(item, f"input[{index}]", Tier.SYSTEM if in_head else Tier.MESSAGES)
    return found


def item_pieces(item: Any, path: str, tier: Tier = Tier.MESSAGES) -> list[Piece]:
    """One input item: a message's content, or a call, a result, reasoning as its JSON."""
    if not isinstance(item, Mapping):
        return [Piece(Kind.TEXT, tier, path, "user", json_text(item), None, True)]
    if "content" in item and item.get("type", "message") == "message":
        found = pieces_of_content(item["content"], f"{path}.content", str(item.get("role", "")), tier)
        if tier is Tier.SYSTEM:
            return [replace(piece, kind=Kind.SYSTEM) if piece.kind is Kind.TEXT else piece for piece in found]
        return found
    piece = piece_of_block(item, path, _role_of(item), tier, True)
    return [replace(piece, kind=Kind.TOOL_USE)] if piece.kind is Kind.TEXT and "arguments" in item else [piece]


def _role_of(item: Mapping[str, Any]) -> str:
    if str(item.get("type", "")).endswith("_output"):
        return "tool"
    return str(item.get("role", "")) or "assistant"
