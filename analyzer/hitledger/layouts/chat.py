"""OpenAI Chat Completions and what imitates it: tools, output schema, then messages."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hitledger.layouts.blocks import Piece, json_text, mark_of, pieces_of_content, tool_pieces
from hitledger.types import Kind, Tier

SYSTEM_ROLES = frozenset({"system", "developer"})


def pieces(body: Mapping[str, Any]) -> list[Piece]:
    """The prompt of a chat request. A JSON schema asked for stands in front of the system message."""
    found = tool_pieces(body.get("tools")) or tool_pieces(body.get("functions"), "functions")
    found += schema_piece(body.get("response_format"), "response_format")
    in_head = True
    messages = body.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        if not isinstance(message, Mapping):
            continue
        role = str(message.get("role", ""))
        in_head = in_head and role in SYSTEM_ROLES
        found += message_pieces(message, f"messages[{index}]", role, Tier.SYSTEM if in_head else Tier.MESSAGES)
    return found


def schema_piece(response_format: Any, path: str) -> list[Piece]:
    """The output schema as a piece, nothing where the format has none."""
    if not isinstance(response_format, Mapping) or response_format.get("type") != "json_schema":
        return []
    return [Piece(Kind.SCHEMA, Tier.SYSTEM, path, "", json_text(response_format))]


def message_pieces(message: Mapping[str, Any], path: str, role: str, tier: Tier) -> list[Piece]:
    """One chat message: reasoning, content and tool calls in the order they are rendered."""
    if role in ("tool", "function"):
        answer = {key: value for key, value in message.items() if key in ("tool_call_id", "name", "content")}
        call_id = str(message.get("tool_call_id") or message.get("name") or "")
        return [Piece(Kind.TOOL_RESULT, tier, path, role, json_text(answer), mark_of(message), True, call_id)]
    found: list[Piece] = []
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(reasoning, str):
        found.append(Piece(Kind.THINKING, tier, f"{path}.reasoning_content", role, reasoning))
    content = pieces_of_content(message.get("content"), f"{path}.content", role, tier)
    if tier is Tier.SYSTEM:
        content = [replace(piece, kind=Kind.SYSTEM) if piece.kind is Kind.TEXT else piece for piece in content]
    found += content
    calls = message.get("tool_calls")
    found += [
        Piece(Kind.TOOL_USE, tier, f"{path}.tool_calls[{index}]", role, json_text(call), None, False, _call_id(call))
        for index, call in enumerate(calls if isinstance(calls, list) else ())
    ]
    if message.get("function_call"):
        found.append(Piece(Kind.TOOL_USE, tier, f"{path}.function_call", role, json_text(message["function_call"])))
    if found:
        mark = found[-1].mark or mark_of(message)
        found[-1] = replace(found[-1], mark=mark)
        found[0] = replace(found[0], opens_message=True)
    return found


def _call_id(call: Any) -> str:
    return str(call.get("id", "")) if isinstance(call, Mapping) else ""
