"""Messages as instrumentations write them -> messages of a chat request, so that equal prompts have equal segments."""

from collections.abc import Mapping
from typing import Any

import orjson

TEXT_PARTS = frozenset({"text", "input_text"})
CALL_PARTS = frozenset({"tool_call", "tool-call", "tool_use"})
RESULT_PARTS = frozenset({"tool_call_response", "tool-result", "tool_result"})
LANGCHAIN_ROLES = {
    **dict.fromkeys(("human", "HumanMessage", "HumanMessageChunk"), "user"),
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk"), "assistant"),
    **dict.fromkeys(("system", "SystemMessage"), "system"),
    **dict.fromkeys(("tool", "ToolMessage"), "tool"),
}
THINKING_PARTS = frozenset({"reasoning", "thinking"})


def parsed(value: Any) -> Any:
    """A JSON string as its value; anything else, or a string that is no JSON, as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def chat_messages(value: Any) -> list[dict[str, Any]]:
    """A list of messages with `content` or `parts` (OTel GenAI, Vercel) as chat messages; [] where it is none."""
    value = parsed(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # LangChain: a batch of one
    found: list[dict[str, Any]] = []
    for message in value if isinstance(value, list) else ():
        message = parsed(message)
        if isinstance(message, Mapping):
            found += _chat_message(_unwrapped(message))
    return found


def _unwrapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """LangChain's messages, serialized (`{lc, id, kwargs}`) or by type ("human"), as plain ones."""
    inner = message.get("kwargs")
    if isinstance(inner, Mapping) and isinstance(message.get("id"), list):
        message = {"type": str(message["id"][-1]) if message["id"] else "", **inner}
    role = LANGCHAIN_ROLES.get(str(message.get("type") or ""))
    if role is None or message.get("role"):
        return message
    return {"role": role, **{key: value for key, value in message.items() if key not in ("type", "id", "name")}}


def _chat_message(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    role = str(message.get("role") or "")
    extra = message.get("additional_kwargs")  # LangChain keeps the calls there
    if isinstance(extra, Mapping) and extra.get("tool_calls") and not message.get("tool_calls"):
        message = {**message, "tool_calls": extra["tool_calls"]}
    parts = message.get("parts")
    if parts is None:
        parts = parsed(message.get("content"))
    if not isinstance(parts, list):
        rest = {key: message[key] for key in ("tool_call_id", "name") if message.get(key)}
        if calls := _calls(message):
            rest["tool_calls"] = calls
        return [{"role": role, "content": message.get("content"), **rest}]
    blocks = [parsed(part) for part in parts]
    results = [block for block in blocks if isinstance(block, Mapping) and _kind(block) in RESULT_PARTS]
    found = [_result(block) for block in results]
    calls = [_call(block) for block in blocks if isinstance(block, Mapping) and _kind(block) in CALL_PARTS]
    calls += _calls(message)
    content = [_block(block) for block in blocks if not _is_call(block)]
    if content or calls or not found:
        plain = {"role": role, "content": content, **({"tool_calls": calls} if calls else {})}
        if message.get("tool_call_id"):
            plain["tool_call_id"] = message["tool_call_id"]
        found.append(plain)
    return found


def _calls(message: Mapping[str, Any]) -> list[Any]:
    """Tool calls beside the content; LangChain's `{name, args, id}` in the API's own form."""
    calls = message.get("tool_calls")
    given = calls if isinstance(calls, list) else []
    return [_call(call) if isinstance(call, Mapping) and "args" in call else call for call in given]


def _kind(block: Mapping[str, Any]) -> str:
    return str(block.get("type"))


def _is_call(block: Any) -> bool:
    return isinstance(block, Mapping) and _kind(block) in CALL_PARTS | RESULT_PARTS


def _block(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    kind, text = _kind(block), block.get("content", block.get("text"))
    if kind in TEXT_PARTS and isinstance(text, str):
        return {"type": "text", "text": text}
    if kind in THINKING_PARTS and isinstance(text, str):
        return {"type": "thinking", "thinking": text}
    return dict(block)


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    name = block.get("name") or block.get("toolName")
    arguments = next((block[key] for key in ("arguments", "args", "input") if key in block), None)
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    call_id = block.get("id") or block.get("toolCallId")
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    content = next((block[key] for key in ("response", "result", "output", "content") if key in block), None)
    call_id = block.get("id") or block.get("toolCallId") or block.get("tool_use_id")
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def indexed(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """`prefix.0.role`, `prefix.0.tool_calls.1.name`, … as a list of nested objects in the order of their numbers."""
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        if not name.startswith(f"{prefix}."):
            continue
        node = root
        *path, last = name[len(prefix) + 1 :].split(".")
        for key in path:
            inner = node.setdefault(key, {})
            node = inner if isinstance(inner, dict) else {}
        node[last] = value
    return [item for item in _numbered(root) if isinstance(item, dict)]


def _numbered(node: dict[str, Any]) -> list[Any]:
    keys = sorted((key for key in node if key.isdecimal() and len(key) < 10), key=int)
    return [_lists(node[key]) for key in keys]


def _lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdecimal() for key in node):
        return _numbered(node)
    return {key: _lists(value) for key, value in node.items()}
