"""Captured traffic: prompts of one length, so that a call costs the same wherever it stands in its file."""

from collections.abc import Callable, Iterator

from long_clock import Clock, Row, result

SYSTEM = "You help. " * 1000
MARK = {"cache_control": {"type": "ephemeral"}}


def messages(calls: int, clock: Clock) -> Iterator[Row]:
    """Bodies of the Messages API, with marks."""
    for call in range(calls):
        asked = [{"role": "user", "content": [{"type": "text", "text": result(call), **MARK}]}]
        body = {"model": "claude-opus-4-5", "max_tokens": 9, "system": [{"type": "text", "text": SYSTEM, **MARK}]}
        usage = {"input_tokens": 3, "cache_read_input_tokens": 2500, "cache_creation_input_tokens": 100}
        response = {"id": f"m{call}", "type": "message", "role": "assistant", "content": [], "usage": usage}
        yield {"timestamp": clock.iso(call), "request": body | {"messages": asked}, "response": response}


def chat(call: int) -> tuple[list[Row], Row]:
    """Messages and usage of a call of the Chat Completions API."""
    asked = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": result(call)}]
    read = {"prompt_tokens_details": {"cached_tokens": 2432}}
    return asked, {"prompt_tokens": 2600, "completion_tokens": 5, "total_tokens": 2605, **read}


def litellm(calls: int, clock: Clock) -> Iterator[Row]:
    """Payloads that LiteLLM logs."""
    for call in range(calls):
        asked, usage = chat(call)
        row = {"id": f"l{call}", "call_type": "acompletion", "response_cost": 0.1, "model": "gpt-5.1", "trace_id": "s"}
        row |= {"startTime": clock.iso(call), "endTime": clock.iso(call, 1), "messages": asked}
        yield row | {"metadata": {"usage_object": usage}}


def langfuse(calls: int, clock: Clock) -> Iterator[Row]:
    """Observations of one trace in Langfuse."""
    for call in range(calls):
        asked, _ = chat(call)
        row = {"id": f"o{call}", "traceId": "t", "type": "GENERATION", "model": "gpt-5.1", "input": asked}
        row |= {"startTime": clock.iso(call), "endTime": clock.iso(call, 1), "parentObservationId": "root"}
        yield row | {"usageDetails": {"input": 168, "input_cached_tokens": 2432, "output": 5, "total": 2605}}


def otel(calls: int, clock: Clock) -> Iterator[Row]:
    """Spans of one trace by the GenAI conventions."""
    for call in range(calls):
        attributes: Row = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5.1"}
        attributes |= {"gen_ai.usage.input_tokens": 2600, "gen_ai.usage.cache_read.input_tokens": 2432}
        attributes["gen_ai.input.messages"] = chat(call)[0]
        span = {"traceId": "t", "spanId": f"s{call}", "name": "chat", "parentSpanId": "root", "attributes": attributes}
        yield span | {"startTime": clock.iso(call), "endTime": clock.iso(call, 1)}


CAPTURES: dict[str, Callable[[int, Clock], Iterator[Row]]] = {
    "bodies": messages,
    "litellm": litellm,
    "langfuse": langfuse,
    "otel": otel,
}
