"""Answers of a transcript: their usage however it is written, and rows that do not follow each other."""

import json
from pathlib import Path
from typing import Any

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from hitledger.logs import claude_code
from hitledger.logs.files import LogFile
from hitledger.usage import read_usage, served_tier
from log_reading import Reading, read

FIGURES = st.sampled_from([0, 0, 7, 7, 20, -3, 2**62, 2**70, 1.0, 7.5, True, None, "7"])
SPLIT = st.dictionaries(st.sampled_from(["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "other"]), FIGURES)
PLAIN = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 7,
    "cache_read_input_tokens": 20,
    "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 90,
    "service_tier": "standard",
}
USAGE = st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": FIGURES,
        "cache_creation_input_tokens": FIGURES,
        "cache_read_input_tokens": FIGURES,
        "cache_creation": SPLIT | st.sampled_from([None, [], "x"]),
        "output_tokens": FIGURES,
        "service_tier": st.sampled_from(["standard", "priority", None, 5, {}]),
        "server_tool_use": st.dictionaries(st.sampled_from(["web_search_requests", "web_fetch_requests"]), FIGURES),
        "inference_geo": st.sampled_from(["not_available", "us", ""]),
        "iterations": st.lists(st.sampled_from([{"type": "message"}, {"type": "compaction"}, {}, 5]), max_size=2),
        "speed": st.sampled_from(["standard", "fast", 1]),
        "output_tokens_details": st.dictionaries(st.sampled_from(["reasoning_tokens", "x"]), FIGURES),
        "an_unknown_key": FIGURES,
    },
)


def answer(usage: Any, *, uuid: str = "a", text: str = "", parent: str = "u") -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    message = {"model": "claude-x", "id": "m", "role": "assistant", "content": content, "usage": usage}
    return {"parentUuid": parent, "sessionId": "s", "type": "assistant", "message": message, "uuid": uuid}


def question(uuid: str, parent: str | None, text: str = "hello") -> dict[str, Any]:
    return {"parentUuid": parent, "sessionId": "s", "type": "user", "message": {"content": text}, "uuid": uuid}


def read_rows(*rows: dict[str, Any], path: Path | None = None) -> Reading:
    content = "\n".join(json.dumps(row) for row in rows).encode()
    if path is None:
        return read(claude_code, LogFile(None, "-", content))
    path.write_bytes(content)
    return read(claude_code, LogFile(path, path.name))


@given(USAGE)
@example(PLAIN)
@example(PLAIN | {"iterations": [{"type": "message"}], "speed": "fast", "inference_geo": "us"})
@example(PLAIN | {"iterations": [{"type": "message"}, {"type": "message"}]})
@example(PLAIN | {"server_tool_use": {"web_search_requests": 1}})
@example(PLAIN | {"cache_creation": None})
def test_usage_of_a_row_is_what_any_usage_object_is(usage: dict[str, Any]) -> None:
    (call,) = read_rows(question("u", None), answer(usage)).calls
    raw = orjson.loads(json.dumps(usage))
    expected, notes = read_usage(raw)
    output = raw.get("output_tokens")
    if expected is None or not expected.input_tokens or (type(output) is int and output < -1):
        assert (call.usage, call.notes[-1]) == (None, "no_usage")
    else:
        assert (call.usage, call.notes) == (expected, notes)
    assert call.tier == served_tier({} if type(output) is int and output < -1 else raw)


def test_the_row_with_the_most_output_counts_and_of_equal_ones_the_later() -> None:
    rows = [
        answer(PLAIN | {"output_tokens": number, "speed": speed}, uuid=f"{number}{speed}") for number, speed in OUTPUTS
    ]
    (call,) = read_rows(question("u", None), *rows).calls
    assert call.usage is not None
    assert (call.usage.output_tokens, call.tier) == (90, "later")


OUTPUTS = ((60, "first"), (90, "earlier"), (90, "later"), (70, "last"))


def test_rows_of_an_answer_between_other_rows_make_the_same_prompt(tmp_path: Path) -> None:
    """One answer in a row, with a blank line in it, and with the input between its rows: the input comes behind it."""
    first, second = answer(PLAIN, uuid="a", text="one"), answer(PLAIN, uuid="b", text="two", parent="a")
    asked, then = question("u", None), question("v", "b", "go on")
    last = answer(PLAIN, uuid="c", text="three", parent="v")
    last["message"]["id"] = "n"
    other = {"type": "mode", "mode": "x", "sessionId": "s"}
    found = []
    for rows in ((first, second, then), (first, other, second, then), (first, then, second)):
        for path in (tmp_path / "s.jsonl", None):
            calls = read_rows(asked, *rows, last, path=path).calls
            segments = calls[1].prompt.segments()
            assert [segment.opens_message for segment in segments[1:]] == [True, True, False, True]
            assert (len(calls[1].prompt), calls[1].prompt.last_message()) == (5, (1, True))
            found.append([segment.digest for segment in segments])
    assert found == [found[0]] * 6


def test_an_answer_whose_first_row_is_empty_opens_no_message(tmp_path: Path) -> None:
    empty, second = answer(PLAIN, uuid="a"), answer(PLAIN, uuid="b", text="two", parent="a")
    empty["message"]["content"] = []
    last = answer(PLAIN, uuid="c", parent="b")
    last["message"]["id"] = "n"
    for path in (tmp_path / "s.jsonl", None):
        prompt = read_rows(question("u", None), empty, second, last, path=path).calls[1].prompt
        assert ([segment.opens_message for segment in prompt.own], prompt.last_message()) == ([False], (1, False))


def test_results_cleared_after_all_rows_of_an_answer(tmp_path: Path) -> None:
    boundary = {
        "parentUuid": "a",
        "sessionId": "s",
        "type": "system",
        "subtype": "microcompact_boundary",
        "microcompactMetadata": {"compactedToolIds": ["t"]},
        "uuid": "x",
    }
    last = answer(PLAIN, uuid="c", parent="x")
    last["message"]["id"] = "n"
    for path in (tmp_path / "s.jsonl", None):
        calls = read_rows(question("u", None), answer(PLAIN, text="one"), boundary, last, path=path).calls
        assert [len(call.prompt) for call in calls] == [2, 3]


def test_a_number_that_no_float_holds_is_read_from_any_input(tmp_path: Path) -> None:
    lines = [orjson.dumps(question("u", None)), orjson.dumps(answer(PLAIN | {"output_tokens": 3}, text="x" * 400))]
    content = b"\n".join(line[:-1] + b',"extra":1e999}' for line in lines)
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    for file in (LogFile(path, path.name), LogFile(None, "-", content)):
        (call,) = read(claude_code, file).calls
        assert call.usage is not None
        assert (call.usage.output_tokens, call.usage.output_estimated, len(call.prompt.segments())) == (100, True, 2)
