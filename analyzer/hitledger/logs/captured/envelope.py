"""A logged pair of request and response in the common spellings: which keys hold the bodies, and what stands beside."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hitledger.logs.captured.dialect import is_request, is_response
from hitledger.logs.captured.exchange import Exchange
from hitledger.logs.captured.identity import safe_headers
from hitledger.logs.captured.payloads import payload_of
from hitledger.logs.fields import count, dollars, first_text, items, mapping, parsed
from hitledger.logs.instants import after, instant

REQUEST_KEYS = (
    *("request", "req", "request_body", "requestBody", "raw_request", "request_json", "request_data", "body", "input"),
    *("payload", "params", "prompt_body"),
)
RESPONSE_KEYS = (
    *("response", "res", "resp", "response_body", "responseBody", "raw_response", "response_json", "response_data"),
    *("output", "completion", "result", "response_text", "body_raw"),
)
_INNER = ("body", "json", "body_raw", "data", "content", "text", "payload")  # a body inside an HTTP message
_ONLY_SENT = frozenset({"max_tokens", "tools", "temperature", "stream", "system"})
_STARTED = (
    *("started_at", "start_time", "startTime", "request_time", "requested_at", "request_timestamp", "timestamp", "ts"),
    *("time", "created_at", "date", "datetime"),
)
_FIRST_TOKEN = ("first_token_at", "completion_start_time", "completionStartTime")
_ENDED = ("ended_at", "end_time", "endTime", "completed_at", "finished_at", "response_timestamp", "responded_at")
_FIRST_TOKEN_MS = ("ttft_ms", "time_to_first_token_ms", "first_token_ms", "ttftMs", "timeToFirstTokenMs")
_LATENCY_MS = ("latency_ms", "duration_ms", "elapsed_ms", "response_time_ms", "latencyMs", "durationMs", "elapsedMs")
_LATENCY_S = ("latency_s", "latency_sec", "latency_seconds", "duration_s", "duration_seconds", "elapsed_seconds")
_SESSION = ("session_id", "sessionId", "session", "conversation_id", "conversationId", "thread_id", "chat_id")
_AGENT = ("agent", "agent_id", "agentId", "agent_name")
_PARENT = ("parent_agent", "parent_agent_id", "parentAgentId")
_ID = ("request_id", "requestId", "call_id", "id", "uuid")
_STATUS = ("status", "status_code", "statusCode", "http_status")
_URL = ("url", "uri", "endpoint", "api_base", "base_url")
_UPSTREAM = ("response_provider", "upstream", "upstream_provider")
_COST = ("cost_usd", "cost", "total_cost", "response_cost")


@dataclass(frozen=True, slots=True)
class _Side:
    """One HTTP message: its body, and the wrapper around it if it had one."""

    body: Mapping[str, Any] | None
    wrapper: Mapping[str, Any]
    notes: tuple[str, ...]


def exchange_in(row: Mapping[str, Any]) -> Exchange | None:
    """The exchange in a row: a pair under known keys, a bare body, or None where it holds neither."""
    if is_response(row):
        return Exchange(None, row)
    request = _request(row)
    response = _response(row)
    if request.body is None or (request.body is row and response.body is None and _is_transcript(row)):
        return None
    return _described(row, request, response)


def _is_transcript(body: Mapping[str, Any]) -> bool:
    """A bare conversation that ends with an answer is what an agent saved, unless it has what only requests have."""
    messages = items(body.get("messages"))
    return bool(messages) and mapping(messages[-1]).get("role") == "assistant" and not _ONLY_SENT & body.keys()


def _request(row: Mapping[str, Any]) -> _Side:
    for key in REQUEST_KEYS:
        side = _side(row.get(key))
        if is_request(side.body):
            return side
    return _Side(row, {}, ()) if is_request(row) else _Side(None, {}, ())


def _response(row: Mapping[str, Any]) -> _Side:
    for key in RESPONSE_KEYS:
        if row.get(key) is not None:
            side = _side(row[key])
            if side.body is not None or side.notes:
                return side
    return _Side(None, {}, ())


def _side(value: Any) -> _Side:
    """A body, or the HTTP message that holds one."""
    given = parsed(value) if isinstance(value, str) and value.lstrip().startswith("{") else None
    outer = mapping(value if given is None else given)
    if outer and not is_request(outer) and not is_response(outer):
        for key in _INNER:
            inner = outer.get(key)
            if isinstance(inner, Mapping | str | list) and inner:
                payload = payload_of(inner, is_base64=outer.get("encoding") == "base64")
                return _Side(payload.body, outer, payload.notes)
        if "status_code" in outer or "headers" in outer:  # an answer without a body
            return _Side(None, outer, ())
    payload = payload_of(value)
    return _Side(payload.body, {}, payload.notes)


def _described(row: Mapping[str, Any], request: _Side, response: _Side) -> Exchange:
    flat = request.body is row
    around = {} if flat else row
    started = _instant(around, _STARTED) or _instant(request.wrapper, _STARTED) or (_instant(row, _STARTED))
    ended = _instant(row, _ENDED) or _instant(response.wrapper, _STARTED) or _after(started, row)
    generated = row.get("generation")
    return Exchange(
        request=request.body,
        response=response.body,
        url=first_text(*(side.get(key) for side in (row, request.wrapper) for key in _URL)),
        status=_status(response.wrapper) or _status(around),
        request_headers=safe_headers(request.wrapper.get("headers") or row.get("request_headers")),
        response_headers=safe_headers(response.wrapper.get("headers") or row.get("response_headers")),
        started_at=started,
        first_token_at=_instant(row, _FIRST_TOKEN) or _after_ms(started, row, _FIRST_TOKEN_MS),
        ended_at=ended,
        id=first_text(*(around.get(key) for key in _ID)),
        session=first_text(*(row.get(key) for key in _SESSION)),
        agent=first_text(*(row.get(key) for key in _AGENT)),
        parent_agent=first_text(*(row.get(key) for key in _PARENT)),
        purpose=first_text(row.get("purpose")),
        upstream=first_text(*(row.get(key) for key in _UPSTREAM)),
        usage=row["usage"] if isinstance(row.get("usage"), Mapping) else None,
        logged_cost=next((cost for key in _COST if (cost := dollars(row.get(key))) is not None), None),
        generated_text=generated if isinstance(generated, str) else None,
        events=("resume",) if row.get("resumed") is True else (),
        notes=request.notes + response.notes,
    )


def _instant(row: Mapping[str, Any], keys: tuple[str, ...]) -> datetime | None:
    return next((moment for key in keys if (moment := instant(row.get(key))) is not None), None)


def _after(started: datetime | None, row: Mapping[str, Any]) -> datetime | None:
    seconds = next((row[key] for key in _LATENCY_S if isinstance(row.get(key), int | float)), None)
    return after(started, seconds * 1000) if seconds is not None else _after_ms(started, row, _LATENCY_MS)


def _after_ms(started: datetime | None, row: Mapping[str, Any], keys: tuple[str, ...]) -> datetime | None:
    return next((moment for key in keys if (moment := after(started, row.get(key))) is not None), None)


def _status(row: Mapping[str, Any]) -> int | None:
    for key in _STATUS:
        value = row.get(key)
        number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 3 else count(value)
        if number is not None and 100 <= number < 600:
            return number
    return None
