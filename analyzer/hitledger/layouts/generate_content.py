"""Gemini generateContent: system instruction, tools, contents."""

from collections.abc import Mapping
from typing import Any

from hitledger.layouts.blocks import Piece, json_text, tool_pieces
from hitledger.types import Kind, Tier

KIND_OF_KEY = {
    "functionCall": Kind.TOOL_USE,
    "functionResponse": Kind.TOOL_RESULT,
    "inlineData": Kind.IMAGE,
    "inline_data": Kind.IMAGE,
    "fileData": Kind.DOCUMENT,
}


def pieces(body: Mapping[str, Any]) -> list[Piece]:
    """The prompt of a generateContent request. Cached content named by reference is not in the body."""
    found = tool_pieces(body.get("tools"))
    instruction = body.get("systemInstruction") or body.get("system_instruction")
    name = "systemInstruction" if "systemInstruction" in body else "system_instruction"
    if isinstance(instruction, str):
        found.append(Piece(Kind.SYSTEM, Tier.SYSTEM, name, "system", instruction))
    elif isinstance(instruction, Mapping):
        found += _parts(instruction.get("parts"), f"{name}.parts", "system", Tier.SYSTEM)
    contents = body.get("contents")
    for index, content in enumerate(contents if isinstance(contents, list) else ()):
        if isinstance(content, Mapping):
            role = str(content.get("role", "user"))
            found += _parts(content.get("parts"), f"contents[{index}].parts", role, Tier.MESSAGES)
    if isinstance(contents, str):
        found.append(Piece(Kind.TEXT, Tier.MESSAGES, "contents", "user", contents, None, True))
    return found


def _parts(parts: Any, path: str, role: str, tier: Tier) -> list[Piece]:
    return [
        _part(part, f"{path}[{index}]", role, tier, index == 0 and tier is Tier.MESSAGES)
        for index, part in enumerate(parts if isinstance(parts, list) else ())
    ]


def _part(part: Any, path: str, role: str, tier: Tier, opens: bool) -> Piece:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        plain = Kind.SYSTEM if tier is Tier.SYSTEM else Kind.TEXT
        return Piece(
            Kind.THINKING if part.get("thought") else plain, tier, f"{path}.text", role, part["text"], None, opens
        )
    keys = part.keys() if isinstance(part, Mapping) else ()
    kind = next((KIND_OF_KEY[key] for key in keys if key in KIND_OF_KEY), Kind.TEXT)
    return Piece(kind, tier, path, role, json_text(part), None, opens)
