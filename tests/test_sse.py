"""Streams folded into one body: figures by hand from the events, damage counted, cuts said."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger.logs.captured.sse import fold_events, fold_text, looks_streamed


def stream(*events: object, end: str = "") -> str:
    return "".join(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events) + end


START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [],
        "usage": {
            "input_tokens": 5,
            "cache_read_input_tokens": 700,
            "cache_creation_input_tokens": 0,
            "output_tokens": 2,
        },
    },
}
TEXT = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
DELTA = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 31}}
STOP = {"type": "message_stop"}


def test_messages_take_the_last_figures() -> None:
    folded = fold_text(stream(START, TEXT, TEXT, {**DELTA, "usage": {"output_tokens": 9}}, DELTA, STOP))
    assert folded is not None
    assert folded.complete
    assert folded.damaged == 0
    assert folded.body["usage"] == {
        "input_tokens": 5,
        "cache_read_input_tokens": 700,
        "cache_creation_input_tokens": 0,
        "output_tokens": 31,
    }
    assert folded.body["content"] == [{"type": "text", "text": "HiHi"}]
    assert folded.body["stop_reason"] == "end_turn"


def test_messages_delta_replaces_input_figures_that_server_tools_added_to() -> None:
    final = {
        "input_tokens": 5,
        "cache_read_input_tokens": 1500,
        "output_tokens": 40,
        "cache_creation_input_tokens": None,
    }
    folded = fold_text(stream(START, {**DELTA, "usage": final}, STOP))
    assert folded is not None
    assert folded.body["usage"]["cache_read_input_tokens"] == 1500
    assert folded.body["usage"]["cache_creation_input_tokens"] == 0


def test_a_cut_stream_does_not_report_the_placeholder_output() -> None:
    folded = fold_text(stream(START, TEXT))
    assert folded is not None
    assert not folded.complete
    assert "output_tokens" not in folded.body["usage"]
    assert folded.body["usage"]["cache_read_input_tokens"] == 700


def test_tool_input_is_joined_and_kept_as_text_where_it_was_cut() -> None:
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "input": {}}}
    parts = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}}
        for part in ('{"a": ', "1}")
    ]
    whole, cut = fold_text(stream(START, block, *parts, DELTA, STOP)), fold_text(stream(START, block, parts[0]))
    assert whole is not None
    assert whole.body["content"] == [{"type": "tool_use", "id": "t", "input": {"a": 1}}]
    assert cut is not None
    assert cut.body["content"][0]["input"] == '{"a": '


def test_damaged_events_are_counted_and_the_rest_is_kept() -> None:
    folded = fold_text(stream(START, '{"type": "content_block', TEXT, "[1]", DELTA, STOP))
    assert folded is not None
    assert folded.damaged == 2
    assert folded.body["content"] == [{"type": "text", "text": "Hi"}]
    assert folded.complete


def test_an_error_in_the_stream_is_in_the_body() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    folded = fold_text(stream(START, error))
    assert folded is not None
    assert folded.body["error"] == error["error"]


def test_chat_takes_the_last_usage_and_the_first_choice() -> None:
    def chunk(usage: object = None, **choice: object) -> dict[str, object]:
        return {"object": "chat.completion.chunk", "id": "c1", "model": "m", "choices": [choice], "usage": usage}

    folded = fold_text(
        stream(
            chunk({"prompt_tokens": 10, "completion_tokens": 1}, index=0, delta={"content": "A"}),
            chunk(index=1, delta={"content": "other choice"}),
            chunk(index=0, delta={"reasoning_content": "why"}, finish_reason="stop"),
            {"object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7}},
            end="data: [DONE]\n\n",
        )
    )
    assert folded is not None
    assert folded.complete
    assert folded.damaged == 0
    assert folded.body["usage"] == {"prompt_tokens": 10, "completion_tokens": 7}
    assert folded.body["choices"][0]["message"] == {"role": "assistant", "content": "A", "reasoning_content": "why"}


def test_chat_without_a_usage_chunk_has_no_usage() -> None:
    folded = fold_text(stream({"choices": [{"index": 0, "delta": {"content": "A"}}]}))
    assert folded is not None
    assert "usage" not in folded.body
    assert not folded.complete


def test_usage_inside_the_choice_counts() -> None:
    folded = fold_text(stream({"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 3}}]}))
    assert folded is not None
    assert folded.body["usage"] == {"prompt_tokens": 3}


def test_responses_take_the_closing_response() -> None:
    usage = {"input_tokens": 9, "output_tokens": 2}
    output = [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]
    folded = fold_text(
        stream(
            {"type": "response.created", "response": {"id": "r1", "output": [], "usage": None}},
            {"type": "response.output_text.delta", "delta": "Hi"},
            {"type": "response.completed", "response": {"id": "r1", "output": output, "usage": usage}},
        )
    )
    assert folded is not None
    assert folded.complete
    assert folded.body["usage"] == usage
    assert folded.body["output"] == output


def test_responses_that_were_cut_keep_the_text() -> None:
    folded = fold_text(
        stream(
            {"type": "response.created", "response": {"id": "r1", "output": [], "usage": None}},
            {"type": "response.output_text.delta", "delta": "Half"},
        )
    )
    assert folded is not None
    assert not folded.complete
    assert folded.body["usage"] is None
    assert folded.body["output"][0]["content"] == [{"type": "output_text", "text": "Half"}]


def test_gemini_takes_the_last_usage_through_the_envelope_of_code_assist() -> None:
    def chunk(text: str, tokens: int, **more: object) -> dict[str, object]:
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, **more}
        return {"response": {"candidates": [candidate], "usageMetadata": {"promptTokenCount": tokens}}, "traceId": "t"}

    folded = fold_text(stream(chunk("a", 7), chunk("b", 8, finishReason="STOP")))
    assert folded is not None
    assert folded.complete
    assert folded.body["usageMetadata"] == {"promptTokenCount": 8}
    assert [part["text"] for part in folded.body["candidates"][0]["content"]["parts"]] == ["a", "b"]


def test_an_unknown_stream_is_none() -> None:
    assert fold_text("data: {}\n\n") is None
    assert fold_text("") is None
    assert fold_events([1, "x", None]) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("event: x\n", True), ("data: {}", True), ("\ufeffdata: {}", True), (": ping\n", True), ('{"a": 1}', False)],
)
def test_looks_streamed(text: str, expected: bool) -> None:
    assert looks_streamed(text) is expected


@given(st.text(alphabet=st.sampled_from('data:event {}[]",\n\\abz0')))
def test_no_text_raises(text: str) -> None:
    fold_text(text)


@given(st.integers(0, 500))
def test_a_stream_cut_anywhere_keeps_its_input_figures_or_none(length: int) -> None:
    whole = stream(START, TEXT, DELTA, STOP)
    folded = fold_text(whole[: len(whole) - length])
    if folded is not None and folded.body.get("usage"):
        assert folded.body["usage"].get("input_tokens", 5) == 5
        assert folded.body["usage"].get("output_tokens") in (None, 31)
