"""OpenInference attributes (Arize Phoenix and its instrumentations).

Source: openinference-semantic-conventions 0.1: `llm.token_count.prompt` is the whole prompt, its details are in it.
"""

from collections.abc import Mapping
from typing import Any

from hitledger.logs.captured.dialect import is_request
from hitledger.logs.fields import dollars
from hitledger.logs.spans.messages import chat_messages, indexed, parsed
from hitledger.logs.spans.request import Request, status_of
from hitledger.logs.spans.span import Role, Span
from hitledger.logs.spans.tools import tools_in
from hitledger.segments import Api

FORMAT = "openinference"
ROLES = {"LLM": Role.CALL, "AGENT": Role.AGENT, "TOOL": Role.TOOL, "EMBEDDING": Role.EMBEDDING}
FIRST_TOKEN_EVENTS = ("First Token Stream Event", "llm.first_token")


def wrote(span: Span) -> bool:
    """Whether the span is of this dialect."""
    return "openinference.span.kind" in span.attributes or "llm.model_name" in span.attributes


def role(span: Span) -> Role:
    """What the span is."""
    kind = span.text("openinference.span.kind").upper()
    return ROLES.get(kind, Role.OTHER) if kind else Role.CALL


def usage(span: Span) -> dict[str, Any]:
    """The token figures under their own names; without any, the GenAI ones that some writers add."""
    for prefix in ("llm.token_count.", "gen_ai.usage."):
        found = {name: value for name, value in span.attributes.items() if name.startswith(prefix)}
        if found:
            return found
    return {}


def request(span: Span) -> Request:
    """The call in the span: the request body where `input.value` is one, else the messages and tools recorded."""
    body, api, complete = _body(span)
    model = span.text("llm.model_name", "gen_ai.request.model")
    response = parsed(span.attributes.get("output.value"))
    served = response.get("model") if isinstance(response, Mapping) else None
    asked = body.get("model")
    return Request(
        body=body,
        usage=usage(span),
        complete=complete,
        api=api,
        model=asked if isinstance(asked, str) and asked else model,
        served_model=served if isinstance(served, str) else "",
        provider=span.text("llm.provider", "llm.system"),
        id=_response_id(response),
        session=span.text("session.id"),
        status=status_of(span),
        first_token_at=next((event.at for event in span.events if event.name in FIRST_TOKEN_EVENTS), None),
        cost=dollars(span.attributes.get("llm.cost.total")),
        generated=_generated(span),
    )


def _response_id(response: Any) -> str:
    given = response.get("id") if isinstance(response, Mapping) else None
    return given if isinstance(given, str) else ""


def _body(span: Span) -> tuple[dict[str, Any], Api | None, bool]:
    given = parsed(span.attributes.get("input.value"))
    if isinstance(given, Mapping) and is_request(given):
        return dict(given), None, True
    body: dict[str, Any] = {"messages": _messages(span, "llm.input_messages")}
    tools, known = tools_in(span.attributes)
    if tools:
        body["tools"] = tools
    parameters = parsed(span.attributes.get("llm.invocation_parameters"))
    if isinstance(parameters, Mapping):
        body |= {key: value for key, value in parameters.items() if key not in ("messages", "input", "contents")}
    return body, Api.CHAT, known and bool(body["messages"])


def _messages(span: Span, prefix: str) -> list[dict[str, Any]]:
    return chat_messages([_message(item.get("message", item)) for item in indexed(span.attributes, prefix)])


def _message(message: Any) -> Any:
    if not isinstance(message, Mapping):
        return {"content": message}
    found = {key: value for key, value in message.items() if key in ("role", "content", "tool_call_id", "name")}
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        found["tool_calls"] = [call.get("tool_call", call) if isinstance(call, Mapping) else call for call in calls]
    contents = message.get("contents")
    if isinstance(contents, list) and not found.get("content"):
        found["content"] = [_part(item) for item in contents]
    return found


def _part(item: Any) -> Any:
    part = item.get("message_content", item) if isinstance(item, Mapping) else item
    return dict(part) if isinstance(part, Mapping) else part


def _generated(span: Span) -> str | None:
    texts = [message.get("content") for message in _messages(span, "llm.output_messages")]
    found = [text for text in texts if isinstance(text, str)]
    return "".join(found) if found else None
