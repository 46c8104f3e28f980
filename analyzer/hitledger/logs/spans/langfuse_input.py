"""The request in a Langfuse generation: its input has as many shapes as there are integrations."""

from collections.abc import Mapping
from typing import Any

from hitledger.logs.fields import items, mapping
from hitledger.logs.spans.messages import chat_messages, parsed
from hitledger.logs.spans.tools import tools_in
from hitledger.segments import Api

Body = tuple[dict[str, Any], Api, bool]  # and whether system prompt and tools are in the body or proven absent


def body_of(record: Mapping[str, Any]) -> Body:
    """The request body of one generation, as far as the observation holds it."""
    given = parsed(record.get("input"))
    output = parsed(record.get("output"))
    if isinstance(given, Mapping) and "contents" in given:
        return _gemini(given)
    if isinstance(output, Mapping) and output.get("object") == "response" and isinstance(given, list | str):
        return _responses(given, output)
    messages, tools = _split(given)
    parameters = mapping(record.get("modelParameters"))
    body: dict[str, Any] = {**_plain(parameters), "messages": messages}
    metadata = mapping(parsed(record.get("metadata")))
    known, described = tools_in(mapping(metadata.get("attributes")))
    described = described or "ls_model_type" in metadata  # LangChain's handler lists all tools, so none were there
    if isinstance(given, Mapping) and isinstance(given.get("tools"), list):
        tools, described = tools or given["tools"], True
    tools = tools or known
    if tools:
        body["tools"] = tools
    return body, Api.CHAT, bool(messages) and (bool(tools) or described)


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Request fields among the model parameters; Langfuse writes those that are no scalar as JSON text."""
    dropped = ("messages", "tools", "input")
    return {key: parsed(value) for key, value in parameters.items() if value is not None and key not in dropped}


def _gemini(given: Mapping[str, Any]) -> Body:
    """A generateContent request, its `config` opened as the client library sends it."""
    config = mapping(given.get("config"))
    body = {**config, **{key: value for key, value in given.items() if key != "config"}}
    return body, Api.GENERATE_CONTENT, "model" in given


def _responses(given: Any, output: Mapping[str, Any]) -> Body:
    """A Responses request: the response repeats instructions and tools."""
    echoed = {
        key: output[key] for key in ("instructions", "tools", "reasoning", "text", "tool_choice") if output.get(key)
    }
    return {**echoed, "input": given}, Api.RESPONSES, True


def _split(given: Any) -> tuple[list[dict[str, Any]], list[Any]]:
    """Messages and tools; LangChain's handler puts tool definitions among the messages."""
    if isinstance(given, Mapping) and isinstance(given.get("messages"), list):
        given = given["messages"]
    if isinstance(given, str):
        return [{"role": "user", "content": given}] if given else [], []
    if isinstance(given, Mapping):
        return chat_messages([given] if "content" in given else [{"role": "user", "content": given}]), []
    tools = [parsed(message["content"]) for message in items(given) if _is_tool(message)]
    return chat_messages([message for message in items(given) if not _is_tool(message)]), tools


def _is_tool(message: Any) -> bool:
    content = parsed(message.get("content")) if isinstance(message, Mapping) else None
    return (
        isinstance(content, Mapping) and message.get("role") == "tool" and "function" in content and "type" in content
    )
