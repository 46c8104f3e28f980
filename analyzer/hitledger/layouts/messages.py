"""Anthropic Messages: tools, then system, then messages."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hitledger.layouts.blocks import Piece, mark_of, pieces_of_content, tool_pieces
from hitledger.types import Kind, Tier


def pieces(body: Mapping[str, Any]) -> list[Piece]:
    """The prompt of a Messages request, marks on the pieces that carry them."""
    found = tool_pieces(body.get("tools"))
    found += [
        replace(piece, kind=Kind.SYSTEM, opens_message=False)
        for piece in pieces_of_content(body.get("system"), "system", "system", Tier.SYSTEM)
    ]
    messages = body.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, Mapping):
            role = str(message.get("role", ""))
            found += pieces_of_content(message.get("content"), f"messages[{index}].content", role, Tier.MESSAGES)
    automatic = mark_of(body)
    return _with_automatic_mark(found, automatic) if automatic else found


def _with_automatic_mark(found: list[Piece], ttl: str) -> list[Piece]:
    """Top-level `cache_control` marks the last block that can carry a mark; one marked already stays as it is."""
    for index in range(len(found) - 1, -1, -1):
        piece = found[index]
        if piece.kind is not Kind.THINKING and piece.text:
            if piece.mark is None:
                found[index] = replace(piece, mark=ttl)
            break
    return found
