"""OpenTelemetry GenAI attributes, old and new names, and OpenLLMetry's, which they grew from.

Sources: semantic conventions 1.28 to 1.38 (gen_ai.*), OpenLLMetry's gen_ai.prompt.N / llm.request.* attributes.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hitledger.logs.fields import dollars
from hitledger.logs.instants import after
from hitledger.logs.spans.messages import chat_messages, indexed, parsed
from hitledger.logs.spans.request import Request, status_of
from hitledger.logs.spans.span import Role, Span
from hitledger.logs.spans.tools import tools_in
from hitledger.segments import Api

FORMAT = "otel"
ROLES = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion", "response", "responses"), Role.CALL),
    **dict.fromkeys(("invoke_agent", "create_agent", "invoke_workflow"), Role.AGENT),
    "execute_tool": Role.TOOL,
    **dict.fromkeys(("embeddings", "embedding", "rerank"), Role.EMBEDDING),
}
TRACELOOP_ROLES = {"agent": Role.AGENT, "workflow": Role.OTHER, "task": Role.OTHER, "tool": Role.TOOL}
USAGE_PREFIXES = ("gen_ai.usage.", "llm.usage.")
PARAMETERS = {
    "gen_ai.request.reasoning_effort": "reasoning_effort",
    "gen_ai.request.service_tier": "service_tier",
    "gen_ai.openai.request.service_tier": "service_tier",
    "gen_ai.openai.request.response_format": "response_format",
    "gen_ai.request.tool_choice": "tool_choice",
}


def wrote(span: Span) -> bool:
    """Whether the span is of this dialect."""
    return any(name.startswith(("gen_ai.", "llm.request.", "llm.usage.", "traceloop.")) for name in span.attributes)


def role(span: Span) -> Role:
    """What the span is; a span without an operation is a call where it names a model and counts tokens."""
    operation = span.text("gen_ai.operation.name").lower()
    if operation in ROLES:
        return ROLES[operation]
    if span.text("llm.request.type") in ("chat", "completion"):
        return Role.CALL
    kind = TRACELOOP_ROLES.get(span.text("traceloop.span.kind"))
    if kind is not None:
        return kind
    if span.attributes.get("gen_ai.tool.name") or span.attributes.get("gen_ai.tool.call.id"):
        return Role.TOOL
    modelled = span.text("gen_ai.request.model", "gen_ai.response.model")
    return Role.CALL if modelled and (usage(span) or indexed(span.attributes, "gen_ai.prompt")) else Role.OTHER


def usage(span: Span) -> dict[str, Any]:
    """The token figures under their own names."""
    found = {name: value for name, value in span.attributes.items() if name.startswith(USAGE_PREFIXES)}
    details = {name: value for name, value in found.items() if ".details." in name and "cache" in name}
    plain = {name.replace(".details.", "."): value for name, value in details.items()}
    return plain | {name: value for name, value in found.items() if ".details." not in name and "cost" not in name}


def request(span: Span) -> Request:
    """The call in the span. Tools are an opt-in attribute, so their absence proves nothing."""
    body: dict[str, Any] = {"messages": _system(span) + _messages(span)}
    tools, known = tools_in(span.attributes)
    if tools:
        body["tools"] = tools
    body |= {key: span.attributes[name] for name, key in PARAMETERS.items() if name in span.attributes}
    return Request(
        body=body,
        usage=usage(span),
        complete=known and bool(body["messages"]),
        api=Api.CHAT,
        model=span.text("gen_ai.request.model") or span.text("gen_ai.response.model"),
        served_model=span.text("gen_ai.response.model"),
        provider=span.text("gen_ai.provider.name", "gen_ai.system"),
        host=span.text("server.address"),
        id=span.text("gen_ai.response.id"),
        session=span.text("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id"),
        status=status_of(span),
        first_token_at=_first_token_at(span),
        cost=dollars(span.attributes.get("operation.cost", span.attributes.get("gen_ai.usage.cost"))),
        generated=_generated(span),
    )


def _first_token_at(span: Span) -> datetime | None:
    seconds = span.attributes.get("gen_ai.server.time_to_first_token")
    return after(span.started_at, seconds * 1000) if isinstance(seconds, int | float) else None


def _content(span: Span, name: str) -> Any:
    value = span.attributes.get(name)
    if value is None:
        value = next((event.attributes[name] for event in span.events if name in event.attributes), None)
    return parsed(value)


def _messages(span: Span) -> list[dict[str, Any]]:
    for name in ("gen_ai.input.messages", "gen_ai.prompt", "events"):
        if found := chat_messages(_content(span, name)):
            return [message for message in found if message["role"] or message.get("content")]
    if found := chat_messages(indexed(span.attributes, "gen_ai.prompt")):
        return found
    return chat_messages(
        [_event_message(event.name, event.attributes) for event in span.events if _is_message(event.name)]
    )


def _is_message(name: str) -> bool:
    return name.startswith("gen_ai.") and name.endswith(".message")


def _event_message(name: str, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    message = {key.removeprefix("gen_ai.event."): value for key, value in attributes.items()}
    inner = parsed(message.get("content"))
    role_name = name.removeprefix("gen_ai.").removesuffix(".message")
    return {"role": role_name, **message, **(inner if isinstance(inner, Mapping) else {})}


def _system(span: Span) -> list[dict[str, Any]]:
    given = _content(span, "gen_ai.system_instructions")
    if isinstance(given, str) and given:
        return [{"role": "system", "content": given}]
    return chat_messages([{"role": "system", "parts": given}]) if isinstance(given, list) and given else []


def _generated(span: Span) -> str | None:
    found = chat_messages(_content(span, "gen_ai.output.messages"))
    found = found or chat_messages(indexed(span.attributes, "gen_ai.completion"))
    texts = [text for message in found for text in _texts(message.get("content"))]
    return "".join(texts) if texts else None


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    return [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
