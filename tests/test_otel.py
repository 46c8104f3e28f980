"""OTel GenAI spans: multi-document OTLP, old and new names, conventions per emitter, what counts once."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hitledger.types import Evidence
from log_fixtures import claims, figures, made, paths, read
from log_reading import fixture

NEW, OLD = fixture("otel/new-names.json"), fixture("otel/old-names.jsonl")


def attributes(pairs: dict[str, Any]) -> list[dict[str, Any]]:
    kinds = {int: "intValue", str: "stringValue", float: "doubleValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in pairs.items()]


def span(span_id: str, parent: str = "", trace: str = "t1", start: int = 10, **pairs: Any) -> dict[str, Any]:
    named = {name.replace("__", "."): value for name, value in pairs.items()}
    nanos = {"startTimeUnixNano": str(start * 10**9 * 10**8), "endTimeUnixNano": str((start * 10**8 + 1) * 10**9)}
    return {
        "traceId": trace,
        "spanId": span_id,
        "parentSpanId": parent,
        "name": "x",
        "attributes": attributes(named),
        **nanos,
    }


def otlp(*spans: dict[str, Any], scope: str = "test") -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}]}]}


def chat(span_id: str, parent: str = "", **pairs: Any) -> dict[str, Any]:
    given = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-5", "gen_ai__usage__input_tokens": 10}
    return span(span_id, parent, **{**given, **pairs})


def test_several_documents_in_one_file() -> None:
    calls, ledger = read("otel", NEW)
    assert claims(NEW) == ["otel"]
    assert (ledger.rows, ledger.calls, ledger.skipped) == (6, 2, 0)
    assert ledger.known_rows == {"tool span": 1, "embedding": 1, "agent span": 1, "same call": 1}
    first, second = calls
    assert (first.id, second.id) == ("resp-1", "resp-2")
    assert (first.session, first.agent, first.provider, first.model) == ("conv-1", "main", "openai", "gpt-5")
    assert first.served_model == "gpt-5-2025-08-07"
    assert first.evidence is Evidence.EXACT
    assert first.started_at == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert first.first_token_at == datetime(2026, 3, 2, 10, 0, 0, 750000, tzinfo=UTC)
    assert paths(first) == ["tools[0]", "messages[0].content[0].text", "messages[1].content[0].text"]
    assert paths(second)[:3] == paths(first)
    assert [a.digest == b.digest for a, b in zip(first.prompt.segments(), second.prompt.segments(), strict=False)] == [
        True
    ] * 3
    assert first.generated_text == "3 kg"
    assert (first.events, second.events) == (("user_turn",), ())
    assert [parameter.value for parameter in first.route] == ['"api.openai.com"']


def test_usage_of_the_conventions_is_inclusive_and_says_where_that_is_assumed() -> None:
    first, second = read("otel", NEW)[0]
    assert figures(first) == (2100, 0, None, 20)
    assert figures(second) == (2160 - 2048, 2048, None, 8)
    assert (first.notes, second.notes) == ((), ("input_convention_assumed",))


def test_convention_is_decided_per_emitter() -> None:
    """One call of an emitter proves its convention for all of them: 12 of input cannot hold 2,060 cached tokens."""
    calls, ledger = read("otel", OLD)
    assert claims(OLD) == ["otel"]
    assert (ledger.rows, ledger.calls) == (5, 5)
    assert [figures(call) for call in calls] == [
        (500, 300, {}, 30),  # by the proof of the next one
        (12, 2000, {"": 60}, 9),
        (200, 300, None, 30),  # the total of 530 proves that 500 holds the 300
        (200, 300, None, 30),  # assumed
        None,
    ]
    assert [call.notes for call in calls] == [(), (), (), ("input_convention_assumed",), ()]
    assert [call.status for call in calls] == [200, 200, 200, 200, 429]


def test_old_names_give_messages_but_not_the_tools() -> None:
    second = read("otel", OLD)[0][1]
    assert second.evidence is Evidence.RECONSTRUCTED
    assert paths(second) == [
        "",
        "messages[0].content",
        "messages[1].content",
        "messages[2].tool_calls[0]",
        "messages[3]",
    ]
    assert second.provider == "anthropic"


def test_an_outer_call_counts_once_and_a_call_inside_a_tool_by_itself() -> None:
    tool = span("tool", "inner", gen_ai__operation__name="execute_tool")
    spans = [chat("outer"), chat("inner", "outer"), tool, chat("nested", "tool"), chat("deeper", "nested")]
    calls, ledger = read("otel", made(otlp(*spans)))
    assert {call.id: (call.agent, call.parent_agent) for call in calls} == {
        "inner": ("main", ""),
        "deeper": ("tool", "main"),
    }
    assert ledger.known_rows == {"outer span": 2, "tool span": 1}


def test_a_loop_of_parents_ends() -> None:
    calls, ledger = read("otel", made(otlp(chat("a", "b"), chat("b", "a"))))
    assert calls == []
    assert ledger.known_rows == {"outer span": 2}


def test_calls_of_a_file_come_in_the_order_of_their_start() -> None:
    calls, _ = read("otel", made(otlp(chat("late", start=30), chat("early", start=20)), otlp(chat("first", start=11))))
    assert [call.id for call in calls] == ["first", "early", "late"]


def test_messages_as_events_and_as_one_attribute() -> None:
    events = [
        {"name": "gen_ai.system.message", "attributes": attributes({"content": "Be short."})},
        {"name": "gen_ai.user.message", "attributes": attributes({"content": '{"content": "Why?"}'})},
    ]
    one = {**chat("a"), "events": events}
    other = chat("b", gen_ai__prompt='[{"role":"system","content":"Be short."},{"role":"user","content":"Why?"}]')
    calls, _ = read("otel", made(otlp(one, other)))
    first, second = ([segment.digest for segment in call.prompt.segments()] for call in calls)
    assert first == second


def test_a_prompt_that_starts_with_a_tool_result_is_not_the_whole_one() -> None:
    """With `previous_response_id` the server holds what stands before it."""
    message = '[{"role":"tool","parts":[{"type":"tool_call_response","id":"c","response":"3"}]}]'
    call = read("otel", made(otlp(chat("a", gen_ai__input__messages=message, gen_ai__tool__definitions="[]"))))[0][0]
    assert call.evidence is Evidence.RECONSTRUCTED


def test_spans_of_other_instrumentations_in_the_file_are_read_too() -> None:
    vercel = span("v", ai__operationId="ai.generateText.doGenerate", ai__model__id="gpt-5", ai__usage__promptTokens=7)
    phoenix = span("p", openinference__span__kind="LLM", llm__model_name="gpt-5", llm__token_count__prompt=9)
    file = made(otlp(chat("g"), vercel, phoenix))
    assert claims(file) == ["otel"]
    assert {call.id: figures(call) for call in read("otel", file)[0]} == {
        "g": (10, None, None, None),
        "v": (7, None, None, None),
        "p": (9, None, None, None),
    }


@pytest.mark.parametrize(
    ("error", "status"),
    [("429", 429), ("openai.RateLimitError", 429), ("BadRequestError", 400), ("error_type_unknown", 500)],
)
def test_status_of_a_failed_span(error: str, status: int) -> None:
    failed = {**chat("a", error__type=error), "status": {"code": "STATUS_CODE_ERROR"}}
    assert read("otel", made(otlp(failed)))[0][0].status == status


def test_an_export_without_spans_has_no_rows() -> None:
    calls, ledger = read("otel", made({"resourceSpans": []}, otlp()))
    assert (calls, ledger.rows) == ([], 0)


def test_python_console_exporter() -> None:
    record = {
        "name": "chat gpt-5",
        "context": {"trace_id": "0xabc", "span_id": "0x1"},
        "parent_id": None,
        "start_time": "2026-03-02T10:00:00.000000Z",
        "end_time": "2026-03-02T10:00:01.500000Z",
        "status": {"status_code": "UNSET"},
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-5",
            "gen_ai.usage.input_tokens": 4,
        },
        "events": [],
        "resource": {"attributes": {"service.name": "x"}},
    }
    file = made(record)
    assert claims(file) == ["otel"]
    call = read("otel", file)[0][0]
    assert (call.session, call.id, figures(call)) == ("abc", "1", (4, None, None, None))
