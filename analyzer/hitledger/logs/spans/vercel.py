"""Vercel AI SDK telemetry: `ai.*.doGenerate` and `ai.*.doStream` are the requests, the spans around them repeat totals.

The SDK names the figures differently for generate and stream in one dump, and records `ai.prompt.tools` with the
messages whenever there are tools, so without them there were none.
"""

from collections.abc import Mapping
from typing import Any

from hitledger.logs.instants import after
from hitledger.logs.spans.messages import chat_messages, parsed
from hitledger.logs.spans.request import Request, status_of
from hitledger.logs.spans.span import Role, Span
from hitledger.logs.spans.tools import tools_in
from hitledger.segments import Api

FORMAT = "vercel-ai-sdk"
CALL_ENDINGS = (".doGenerate", ".doStream")


def wrote(span: Span) -> bool:
    """Whether the span is of this dialect."""
    return "ai.operationId" in span.attributes


def role(span: Span) -> Role:
    """What the span is."""
    operation = span.text("ai.operationId")
    if operation.startswith(("ai.embed", "ai.rerank")):
        return Role.EMBEDDING
    if operation.endswith(CALL_ENDINGS):
        return Role.CALL
    return Role.TOOL if operation == "ai.toolCall" else Role.OUTER


def usage(span: Span) -> Mapping[str, Any]:
    """The provider's own usage where the response metadata have it, else the SDK's figures."""
    metadata = parsed(span.attributes.get("ai.response.providerMetadata"))
    for provider in metadata.values() if isinstance(metadata, Mapping) else ():
        own = provider.get("usage") or provider.get("usageMetadata") if isinstance(provider, Mapping) else None
        if isinstance(own, Mapping) and len(own) > 1:
            return own
    found = {name: value for name, value in span.attributes.items() if name.startswith("ai.usage.")}
    return found or {name: value for name, value in span.attributes.items() if name.startswith("gen_ai.usage.")}


def request(span: Span) -> Request:
    """The call in the span."""
    body: dict[str, Any] = {"messages": chat_messages(span.attributes.get("ai.prompt.messages"))}
    tools, known = tools_in(span.attributes)
    if tools:
        body["tools"] = tools
    choice = parsed(span.attributes.get("ai.prompt.toolChoice"))
    if choice:
        body["tool_choice"] = choice
    streamed = span.attributes.get("ai.response.msToFirstChunk")
    return Request(
        body=body,
        usage=usage(span),
        complete=known and bool(body["messages"]),
        api=Api.CHAT,
        model=span.text("ai.model.id", "gen_ai.request.model"),
        served_model=span.text("ai.response.model", "gen_ai.response.model"),
        provider=span.text("ai.model.provider", "gen_ai.system"),
        id=span.text("ai.response.id", "gen_ai.response.id"),
        session=span.text("ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session.id"),
        status=status_of(span),
        first_token_at=after(span.started_at, streamed),
        generated=span.text("ai.response.text", "ai.response.object") or None,
    )
