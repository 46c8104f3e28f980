"""Whether a request brings a new message of the user, and not only results of tools."""

from collections.abc import Mapping
from typing import Any

from hitledger.segments import Api

_RESULTS = ("toolResult", "functionResponse", "function_response")


def opens_turn(body: Mapping[str, Any], api: Api) -> bool:
    """True where the last message is the user's own. A message that also carries tool results is no new turn."""
    name = {Api.RESPONSES: "input", Api.GENERATE_CONTENT: "contents"}.get(api, "messages")
    messages = body.get(name)
    if isinstance(messages, str):
        return bool(messages)
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, Mapping) or last.get("role", "user") != "user" or "output" in last:
        return False
    content = last.get("parts") if api is Api.GENERATE_CONTENT else last.get("content")
    return not any(_is_result(block) for block in content) if isinstance(content, list) else bool(content)


def _is_result(block: Any) -> bool:
    if not isinstance(block, Mapping):
        return False
    return str(block.get("type", "")).endswith("tool_result") or any(key in block for key in _RESULTS)
