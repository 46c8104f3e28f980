"""MLflow tracing: attribute values are JSON strings; `mlflow.chat.tokenUsage` has totals without cache figures."""

from collections.abc import Mapping
from typing import Any

from hitledger.logs.captured.dialect import is_request
from hitledger.logs.fields import text
from hitledger.logs.spans.messages import chat_messages, parsed
from hitledger.logs.spans.request import Request, status_of
from hitledger.logs.spans.span import Role, Span
from hitledger.segments import Api

FORMAT = "mlflow"
ROLES = {
    **dict.fromkeys(("LLM", "CHAT_MODEL"), Role.CALL),
    "AGENT": Role.AGENT,
    "TOOL": Role.TOOL,
    "EMBEDDING": Role.EMBEDDING,
}


def wrote(span: Span) -> bool:
    """Whether the span is of this dialect."""
    return "mlflow.spanType" in span.attributes


def role(span: Span) -> Role:
    """What the span is."""
    return ROLES.get(str(_value(span, "mlflow.spanType")).strip('"').upper(), Role.OTHER)


def usage(span: Span) -> Mapping[str, Any]:
    """The provider's usage where the outputs are its response, else MLflow's own figures."""
    for source in (_value(span, "mlflow.spanOutputs"), {"usage": _value(span, "mlflow.chat.tokenUsage")}):
        found = source.get("usage") if isinstance(source, Mapping) else None
        if isinstance(found, Mapping) and found:
            return found
    return {}


def request(span: Span) -> Request:
    """The call in the span: inputs are the keyword arguments of the provider's client where it was traced directly."""
    inputs = _value(span, "mlflow.spanInputs")
    outputs = _value(span, "mlflow.spanOutputs")
    body, api, complete = _body(inputs, _value(span, "mlflow.chat.tools"))
    asked, served = body.get("model"), outputs.get("model") if isinstance(outputs, Mapping) else None
    named = _value(span, "mlflow.llm.model")
    session = (span.resource or {}).get("mlflow.trace.session")
    return Request(
        body=body,
        usage=usage(span),
        complete=complete,
        api=api,
        model=next((name for name in (asked, named, served) if isinstance(name, str) and name), ""),
        served_model=served if isinstance(served, str) else "",
        provider=text(_value(span, "mlflow.llm.provider")),
        session=session if isinstance(session, str) else "",
        status=status_of(span),
    )


def _value(span: Span, name: str) -> Any:
    value = span.attributes.get(name)
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"' and "\\" not in value:
        return value[1:-1]
    return parsed(value)


def _body(inputs: Any, tools: Any) -> tuple[dict[str, Any], Api | None, bool]:
    if isinstance(inputs, Mapping) and is_request(inputs):
        return dict(inputs), None, True
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else inputs
    body: dict[str, Any] = {"messages": chat_messages(messages)}
    if isinstance(tools, list):
        body["tools"] = tools
    return body, Api.CHAT, isinstance(tools, list) and bool(body["messages"])
