"""One row of LiteLLM's logs -> a call.

Sources: LiteLLM docs, proxy/logging_spec (StandardLoggingPayload); its schema.prisma (LiteLLM_SpendLogs).
"""

from collections.abc import Mapping
from typing import Any

from hitledger.logs.captured.answers import text_of
from hitledger.logs.captured.dialect import api_of_shape
from hitledger.logs.captured.turns import opens_turn
from hitledger.logs.fields import dollars, first_text, mapping, parsed, text
from hitledger.logs.instants import instant
from hitledger.parameters import parameters_of, route_of
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout
from hitledger.types import Call, Evidence, Place, Prompt, Usage
from hitledger.usage import read_usage, served_tier

CALLS = frozenset(
    {
        *("completion", "acompletion", "text_completion", "atext_completion", "completion_with_fallbacks"),
        *("responses", "aresponses", "anthropic_messages", "generate_content", "agenerate_content"),
        *("generate_content_stream", "agenerate_content_stream", "pass_through_endpoint", "allm_passthrough_route"),
    }
)
REDACTED = "redacted-by-litellm"


def is_row(record: Any) -> bool:
    """A payload (`response_cost`) or a spend log (`spend`)."""
    if not isinstance(record, Mapping) or "call_type" not in record:
        return False
    return ("id" in record and "response_cost" in record) or ("request_id" in record and "spend" in record)


def not_a_call(record: Mapping[str, Any]) -> str:
    """Why a row stands for no request to a model, "" where it does."""
    call_type = text(record.get("call_type"))
    if call_type and call_type not in CALLS:
        return f"{call_type[:40]} request"
    if str(record.get("cache_hit")).lower() == "true":
        return "answered by the gateway's own cache"
    return ""


def call_of(record: Mapping[str, Any], place: Place, layout: Layout) -> Call:
    """The call of one row."""
    metadata = _object(record.get("metadata"))
    body = _body(record)
    api = _api(record, body)
    prompt = layout.prompt(body, api) if _has_prompt(body) else Prompt(())
    response = _object(record.get("response"))
    status = _status(record, metadata)
    raw = _raw_usage(record, metadata, response) if status < 400 else {}
    usage, notes = _usage(raw, status)
    call_id = first_text(record.get("id"), record.get("request_id"))
    host = first_text(record.get("api_base"), mapping(record.get("hidden_params")).get("api_base"))
    model = text(record.get("model"))
    return Call(
        id=call_id,
        session=first_text(record.get("session_id"), record.get("trace_id"))
        or (place.file if len(prompt) else call_id),
        agent=text(record.get("agent_id")) or "main",
        place=place,
        provider=provider_of(model, text(record.get("custom_llm_provider"))),
        model=model,
        served_model=text(response.get("model")),
        evidence=Evidence.EXACT if len(prompt) else Evidence.USAGE_ONLY,
        prompt=prompt,
        api=api if len(prompt) else "",
        started_at=instant(record.get("startTime")),
        first_token_at=_first_token_at(record),
        ended_at=instant(record.get("endTime")),
        status=status,
        usage=usage,
        parameters=parameters_of(body),
        route=route_of(body, host=_host(host), upstream=text(record.get("model_id"))),
        logged_cost=dollars(record.get("response_cost", record.get("spend"))),
        generated_text=text_of(response),
        events=("user_turn",) if opens_turn(body, api) else (),
        tier=served_tier(raw, response),
        notes=notes,
    )


def _object(value: Any) -> Mapping[str, Any]:
    """An object, or the JSON text of one (spend logs)."""
    return mapping(parsed(value)) if isinstance(value, str) else mapping(value)


def _value(value: Any) -> Any:
    return parsed(value) if isinstance(value, str) and value[:1] in ("[", "{") else value


def _body(record: Mapping[str, Any]) -> dict[str, Any]:
    """The request: the one the proxy got where it was stored, else messages and parameters as LiteLLM sent them."""
    sent = _object(record.get("proxy_server_request"))
    if "body" in sent:
        sent = _object(sent.get("body"))
    if _has_prompt(sent):
        return dict(sent)
    body = {**_object(record.get("model_parameters")), "model": record.get("model")}
    messages = _value(record.get("messages"))
    if isinstance(messages, Mapping):
        messages = messages.get("messages")
    if isinstance(messages, str) and messages and messages != REDACTED:
        messages = [{"role": "user", "content": messages}]
    if isinstance(messages, list) and not _redacted(messages):
        body["input" if _is_responses(record) else "messages"] = messages
    return body


def _redacted(messages: list[Any]) -> bool:
    return all(REDACTED in str(mapping(message).get("content")) for message in messages)


def _has_prompt(body: Mapping[str, Any]) -> bool:
    return any(body.get(name) for name in ("messages", "input", "contents", "prompt"))


def _is_responses(record: Mapping[str, Any]) -> bool:
    return text(record.get("call_type")) in ("responses", "aresponses")


def _api(record: Mapping[str, Any], body: Mapping[str, Any]) -> Api:
    if _is_responses(record):
        return Api.RESPONSES
    if record.get("call_type") == "anthropic_messages":
        return Api.MESSAGES
    if text(record.get("call_type")).removeprefix("a") in ("completion", "text_completion"):
        return Api.CHAT
    return api_of_shape(body) or Api.CHAT


def _status(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> int:
    if record.get("status") != "failure":
        return 200
    error = mapping(record.get("error_information")) or mapping(metadata.get("error_information"))
    code = str(error.get("error_code") or "")
    return int(code) if len(code) == 3 and code.isdecimal() else 500


def _raw_usage(
    record: Mapping[str, Any], metadata: Mapping[str, Any], response: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The response's usage, the copy in the metadata (cache figures are there), else the columns."""
    for found in (response.get("usage"), metadata.get("usage_object"), response.get("usageMetadata")):
        if isinstance(found, Mapping) and found:
            return found
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    columns = {name: record[name] for name in names if record.get(name) is not None}
    return columns if any(columns.values()) else {}


def _usage(raw: Mapping[str, Any], status: int) -> tuple[Usage | None, tuple[str, ...]]:
    usage, notes = read_usage(raw)
    return usage, notes if usage is not None or notes or status >= 400 else ("usage_missing",)


def _first_token_at(record: Mapping[str, Any]) -> Any:
    """When the first token came. Where nothing was streamed the column repeats the end."""
    if record.get("completionStartTime") == record.get("endTime"):
        return None
    return instant(record.get("completionStartTime"))


def _host(address: str) -> str:
    return address.partition("://")[2].partition("/")[0].rpartition("@")[2] if "://" in address else address
