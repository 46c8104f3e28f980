"""Claude Code transcripts: calls, prompts, agents, copies. The figures of the fixtures were counted by hand."""

import json
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from hitledger.logs import claude_code
from hitledger.logs.claude_code.blocks import cut, tally_of
from hitledger.logs.claude_code.row import rows_of
from hitledger.logs.files import LogFile
from hitledger.logs.read import read_logs
from hitledger.types import CacheWrite, Call, Evidence, Kind
from log_fixtures import made
from log_reading import CORPUS, FIXTURES, Reading, read, usage, visible

Row = dict[str, Any]


def of_folder(name: str) -> Reading:
    paths = sorted((FIXTURES / "claude-code" / name).rglob("*.jsonl"), key=lambda path: str(path.with_suffix("")))
    return read(claude_code, *(LogFile(path, path.name) for path in paths))


def calls_by_id(name: str) -> dict[str, Call]:
    return {call.id.partition("/")[0]: call for call in of_folder(name).calls}


def rows(*values: Row) -> LogFile:
    return made(*values, name="-")


def user(uuid: str, parent: str | None, content: Any = "Hello", **rest: Any) -> Row:
    message = {"role": "user", "content": content}
    return {"type": "user", "sessionId": "s", "uuid": uuid, "parentUuid": parent, "message": message} | rest


def answer(uuid: str, parent: str | None, identifier: str, content: Any = "Yes", **rest: Any) -> Row:
    figures = {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 9, "output_tokens": 2}
    message = {"id": identifier, "model": "claude-opus-4-5", "content": content, "usage": figures}
    row = {"type": "assistant", "sessionId": "s", "uuid": uuid, "parentUuid": parent, "message": message}
    return row | {"requestId": f"r-{identifier}"} | rest


# Real sessions ------------------------------------------------------------------------------------------------------


def test_a_real_session() -> None:
    reading = of_folder("real-session")
    figures = [usage(call) for call in reading.calls]
    assert len(figures) == 60
    assert [sum(figure[index] for figure in figures) for index in range(3)] == [620, 2133097, 53098]  # type: ignore[index, misc]
    assert reading.known == {
        "file-history-snapshot": 9,
        "queue-operation": 2,
        "same call": 65,
        "summary": 1,
        "system/turn_duration": 1,
        "user": 62,
    }
    assert [call.place.row for call in reading.calls[:8]] == [4, 8, 12, 15, 18, 22, 28, 32]
    assert figures[5] == (10, 26590, 549, 334)
    assert figures[6] == (9, 25567, 1846, 119)
    assert figures[57][1] == 24950  # type: ignore[index]
    assert Counter(event for call in reading.calls for event in call.events) == {"user_turn": 9}
    seventh = reading.calls[6]
    assert seventh.started_at == datetime(2026, 1, 14, 16, 14, 7, 905000, UTC)
    assert seventh.ended_at == datetime(2026, 1, 14, 16, 14, 13, 693000, UTC)
    assert seventh.events == ("user_turn",)
    assert (seventh.provider, seventh.model, seventh.api) == ("anthropic", "claude-sonnet-4-5-20250929", "messages")
    assert (seventh.session, seventh.agent, seventh.project) == (
        "c76e5be5-ffd2-4901-a935-885527c83a61",
        "main",
        "project",
    )
    assert all(call.evidence is Evidence.RECONSTRUCTED for call in reading.calls)


def test_each_prompt_extends_the_one_before() -> None:
    calls = of_folder("real-session").calls
    for before, after in pairwise(calls):
        assert after.prompt.base is before.prompt
        assert after.prompt.segments()[: len(before.prompt)] == before.prompt.segments()
        assert len(after.prompt) > len(before.prompt)
        assert after.prompt.thinking() == sum(segment.kind is Kind.THINKING for segment in after.prompt.own)


@pytest.mark.parametrize("name", ["c76e5be5", "3af9b1a7", "554b9fa6"])
def test_the_truth_of_whole_sessions(name: str) -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus is not here")
    truth = json.loads((CORPUS / f"truth/claude-{name}.json").read_text())
    (path,) = (CORPUS / "claude-code").glob(f"*{name}*")
    reading = read(claude_code, LogFile(path, path.name))
    figures = [usage(call) for call in reading.calls]
    uncached, read_tokens, written = (sum(figure[i] for figure in figures) for i in range(3))  # type: ignore[index, misc]
    assert len(figures) == truth["requests"]
    assert (uncached, read_tokens, written) == (truth["input"], truth["cache_read"], truth["cache_creation"])
    assert round(read_tokens / (uncached + read_tokens + written), 6) == truth["hit_ratio"]
    assert reading.ledgers[0].skipped == truth["unparsable_lines"]
    for collapse in truth["collapses"]:
        call = reading.calls[collapse["request"] - 1]
        assert call.id == f"{collapse['message_id']}/{collapse['request_id']}"
        expected = "compaction" if collapse["label"] == "compaction" else "user_turn"
        assert (expected in call.events) is collapse["user_turn"]


def test_all_of_the_corpus_is_read() -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus is not here")
    reading = read_logs([str(CORPUS / "claude-code")])
    calls = list(reading.calls())
    assert all(ledger.balanced for ledger in reading.ingest.ledgers)
    assert [Path(refusal.file).name for refusal in reading.ingest.refusals] == [
        "Mai0313__VibeCodingTracker__sessions__claude_code.expected.json"
    ]
    assert len(reading.ingest.ledgers) == 71
    assert len({call.id for call in calls}) == len(calls)
    assert sum(ledger.known_rows["copied call"] for ledger in reading.ingest.ledgers) > 0
    for call in calls:
        assert len(call.prompt.segments()) == len(call.prompt)


# The tree of rows ---------------------------------------------------------------------------------------------------


def test_the_last_message_is_known_without_cutting() -> None:
    for call in of_folder("real-session").calls:
        known = call.prompt.last_message()
        back = next((i for i, segment in enumerate(reversed(call.prompt.own), 1) if segment.opens_message), None)
        assert known == (back or len(call.prompt.own), back is not None)


def test_results_of_parallel_calls_stand_behind_the_whole_answer() -> None:
    calls = calls_by_id("parallel-tools")
    assert visible(calls["msg_p1"]) == ["0 text"]
    assert visible(calls["msg_p2"]) == [
        *("0 text", "1 thinking", "2 tool_use", "4 tool_use"),
        *("3 tool_result", "5 tool_result", "6 text"),
    ]
    assert usage(calls["msg_p1"]) == (4, 0, 9000, 61)
    assert [s.name for s in calls["msg_p2"].prompt.own if s.kind is Kind.TOOL_RESULT] == ["toolu_1", "toolu_2"]
    assert [s.opens_message for s in calls["msg_p2"].prompt.segments()[1:]] == [
        *(True, True, False, False),
        *(True, False, False),
    ]


def test_a_rewind_goes_back_to_where_the_row_hangs() -> None:
    calls = calls_by_id("parallel-tools")
    assert visible(calls["msg_p3"])[7:] == ["7 text", "8 text"]
    assert visible(calls["msg_p4"]) == [*visible(calls["msg_p3"])[:8], "10 text"]
    assert calls["msg_p4"].events == ("rewind", "user_turn")
    assert calls["msg_p3"].events == ("user_turn",)


def test_what_the_rows_say_of_the_request() -> None:
    calls = calls_by_id("parallel-tools")
    assert calls["msg_p1"].usage is not None
    assert calls["msg_p1"].usage.cache_writes == (CacheWrite("1h", 9000),)
    assert [(p.name, p.value) for p in calls["msg_p2"].parameters] == [("effort", '"high"'), ("speed", '"fast"')]
    assert [(p.name, p.value) for p in calls["msg_p4"].parameters] == [("effort", '"low"')]
    assert (calls["msg_p2"].tier, calls["msg_p1"].tier) == ("fast", "")
    assert calls["msg_p4"].provider_reason == "messages_changed"
    assert calls["msg_p3"].provider_reason is None
    assert calls["msg_p2"].started_at == datetime(2026, 3, 2, 9, 0, 6, tzinfo=UTC)  # the last input: the reminder
    assert "start_estimated" in calls["msg_p2"].notes


def test_agents_are_linked_to_the_one_that_started_them() -> None:
    reading = of_folder("sub-agents")
    calls = {call.id.partition("/")[0]: call for call in reading.calls}
    assert {name: (call.agent, call.parent_agent) for name, call in calls.items()} == {
        "msg_m1": ("main", ""),
        "msg_m2": ("main", ""),
        "msg_s1": ("a1b2c3d", "main"),
        "msg_s2": ("a1b2c3d", "main"),
        "msg_s3": ("a1b2c3d", "main"),
        "msg_c1": ("acompact-0f0e0d", "main"),
        "msg_d1": ("e5f6a7b", "a1b2c3d"),
    }
    assert {call.session for call in reading.calls} == {"bbbb2222-0000-4000-8000-000000000002"}
    assert [call.purpose for call in reading.calls if call.purpose] == ["compaction"]
    assert calls["msg_m1"].prompt.segments()[0].digest != calls["msg_s1"].prompt.segments()[0].digest
    assert visible(calls["msg_m2"]) == ["0 text", "1 tool_use", "2 tool_result"]


def test_agents_inside_the_main_file() -> None:
    reading = of_folder("old-shapes")
    calls = {call.id.partition("/")[0]: call for call in reading.calls}
    assert (calls["msg_i2"].agent, calls["msg_i2"].parent_agent) == ("sidechain-cccc-000", "main")
    assert visible(calls["msg_i2"]) == ["2 text"]
    assert visible(calls["msg_i3"]) == ["0 text", "1 tool_use", "4 tool_result"]


def test_a_row_of_usage_alone() -> None:
    call = calls_by_id("old-shapes")["msg_u1"]
    assert (call.evidence, len(call.prompt), usage(call)) == (Evidence.USAGE_ONLY, 0, (100, 10, 25, 50))
    assert str(call.logged_cost) == "0.12"
    assert call.started_at == call.ended_at == datetime(2025, 6, 2, 10, 0, tzinfo=UTC)


def test_copied_history_counts_once_for_its_first_session() -> None:
    reading = of_folder("fork-and-resume")
    assert [(call.session[:4], call.id) for call in reading.calls] == [
        ("dddd", "msg_f1/req_f1"),
        ("dddd", "msg_f2/req_f2"),
        ("eddd", "msg_f4/req_f4"),
        ("0ddd", "msg_f3/req_f3"),
    ]
    assert [call.events for call in reading.calls[2:]] == [("resume", "user_turn")] * 2
    assert [ledger.known_rows["copied call"] for ledger in reading.ledgers] == [0, 3, 3]
    fork = reading.calls[3]
    assert visible(fork) == ["0 text", "1 thinking", "2 text", "3 text", "4 text", "5 text"]
    original = reading.calls[1].prompt.segments()
    assert [s.digest for s in fork.prompt.segments()[:5]] == [s.digest for s in original]


def test_placeholder_output_is_estimated_and_flagged() -> None:
    calls = calls_by_id("placeholder-output")
    first, second = calls["msg_o1"], calls["msg_o2"]
    assert usage(first) == (3, 0, 5000, (400 + 1600) // 4)
    assert first.usage is not None
    assert first.usage.output_estimated
    assert first.notes == ("output_estimated", "start_estimated")
    assert usage(second) == (3, 5003, 12, 4)  # "It is white." is about three tokens: four are no placeholder
    assert second.usage is not None
    assert not second.usage.output_estimated


def test_compaction() -> None:
    calls = calls_by_id("compaction")
    assert calls["msg_k4"].events == ("compaction", "user_turn")
    assert visible(calls["msg_k4"]) == ["8 text", "9 text"]
    assert calls["msg_k5"].events == ("clear", "user_turn")
    assert visible(calls["msg_k5"]) == ["11 text", "12 text"]


def test_a_result_cleared_by_micro_compaction_is_another_segment() -> None:
    calls = calls_by_id("compaction")
    before, after = calls["msg_k2"].prompt.segments(), calls["msg_k3"].prompt.segments()
    assert [left.digest == right.digest for left, right in zip(before, after, strict=False)] == [
        True,
        True,
        True,
        False,
    ]
    assert (after[3].kind, after[3].name, after[3].chars) == (Kind.TOOL_RESULT, "toolu_k1", 33)
    assert visible(calls["msg_k3"]) == ["0 text", "1 tool_use", "2 tool_result", "3 text", "5 text"]


def test_errors_are_no_calls_and_an_aborted_answer_is_one_without_usage() -> None:
    reading = of_folder("api-errors")
    calls = {call.id.partition("/")[0]: call for call in reading.calls}
    assert list(calls) == ["msg_e1", "msg_e2", "msg_e3"]
    assert reading.known == {"user": 5, "system/api_error": 1, "api error": 1}
    assert calls["msg_e2"].usage is None
    assert calls["msg_e2"].notes == ("no_usage", "start_estimated")
    assert usage(calls["msg_e3"]) == (3, 5203, 40, 4)


# Made-up rows -------------------------------------------------------------------------------------------------------


def test_the_last_and_largest_output_counts() -> None:
    parts = [answer(f"a{number}", f"a{number - 1}", "m", [{"type": "text", "text": "x"}]) for number in range(1, 4)]
    for part, output in zip(parts, (2, 80, 40), strict=True):
        part["message"]["usage"] = part["message"]["usage"] | {"output_tokens": output}
    reading = read(claude_code, rows(user("a0", None), *parts))
    assert [usage(call) for call in reading.calls] == [(3, 0, 9, 80)]


def test_one_message_id_with_two_requests_is_two_calls() -> None:
    reading = read(claude_code, rows(user("a", None), answer("b", "a", "m"), answer("c", "a", "m", requestId="r2")))
    assert [call.id for call in reading.calls] == ["m/r-m", "m/r2"]
    assert len(reading.calls[0].prompt) == len(reading.calls[1].prompt)  # the second was sent from the same place


def test_a_missing_parent_leaves_the_chain_where_it_is() -> None:
    reading = read(
        claude_code, rows(user("a", None), answer("b", "a", "m1"), user("d", "lost"), answer("e", "d", "m2"))
    )
    assert visible(reading.calls[1]) == ["0 text", "1 text", "2 text"]
    assert reading.calls[1].events == ("user_turn",)


def test_a_uuid_on_two_rows_is_the_place_of_the_later_one() -> None:
    before = (user("u0", None), answer("a0", "u0", "m0"), user("u1", "a0"), answer("a1", "u1", "m1"), user("u2", "a1"))
    twice = {"type": "system", "subtype": "note", "uuid": "u2", "parentUuid": "u0", "sessionId": "s"}
    for also, last in ((), ["0 text", "1 text", "2 text", "3 text", "4 text"]), ((twice,), ["0 text"]):
        reading = read(claude_code, rows(*before, *also, answer("a2", "u2", "m2")))
        assert visible(reading.calls[2]) == last


def test_rows_written_twice_count_once() -> None:
    first = [user("a", None), answer("b", "a", "m1"), user("c", "b")]
    reading = read(claude_code, rows(*first, *first, answer("d", "c", "m2")))
    assert visible(reading.calls[1]) == ["0 text", "1 text", "2 text"]
    assert reading.known == {"user": 2, "same row": 2, "same call": 1}


def test_a_new_first_message_is_a_rewind_to_the_start() -> None:
    reading = read(claude_code, rows(user("a", None), answer("b", "a", "m1"), user("c", None), answer("d", "c", "m2")))
    assert visible(reading.calls[1]) == ["2 text"]
    assert reading.calls[1].events == ("rewind", "user_turn")


def test_another_version_of_the_program_is_a_resumed_session() -> None:
    reading = read(
        claude_code,
        rows(
            user("a", None, version="2.1.5"),
            answer("b", "a", "m1", version="2.1.5"),
            user("c", "b", version="2.1.6"),
            answer("d", "c", "m2", version="2.1.6"),
        ),
    )
    assert [call.events for call in reading.calls] == [("user_turn",), ("resume", "user_turn")]


def test_a_hook_says_that_the_session_was_resumed() -> None:
    hook = {"type": "progress", "uuid": "h", "parentUuid": "b", "data": {"hookName": "SessionStart:resume"}}
    reading = read(
        claude_code, rows(user("a", None), answer("b", "a", "m1"), hook, user("c", "h"), answer("d", "c", "m2"))
    )
    assert reading.calls[1].events == ("resume", "user_turn")


def test_what_the_program_tells_itself_is_no_user_turn() -> None:
    reading = read(
        claude_code,
        rows(user("a", None), answer("b", "a", "m1"), user("c", "b", "Go on", isMeta=True), answer("d", "c", "m2")),
    )
    assert [call.events for call in reading.calls] == [("user_turn",), ()]
    assert visible(reading.calls[1]) == ["0 text", "1 text", "2 text"]


def test_blocks_of_other_kinds() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 5000}}
    found = {"tool_use_id": "t", "type": "tool_result", "content": [{"type": "text", "text": "x"}, image]}
    content = [image, found, {"type": "redacted_thinking", "data": "abc"}, "bare", {"type": "thinking", "thinking": ""}]
    segments = cut(content, "user", "p", True)
    assert [segment.kind for segment in segments] == [
        *(Kind.IMAGE, Kind.TOOL_RESULT, Kind.THINKING, Kind.TEXT, Kind.THINKING),
    ]
    assert [segment.path for segment in segments] == [f"p[{index}]" for index in range(5)]
    assert [segment.opens_message for segment in segments] == [True, False, False, False, False]
    assert all(segment.text is None and segment.chars < 1000 for segment in segments)
    line = orjson.dumps({"type": "assistant", "message": {"content": content}})
    assert tally_of([(1, rows_of([line])[0], line, 0)]) == (5, 2)


def test_fields_that_are_passed_over_are_checked_too(tmp_path: Path) -> None:
    answer = {"id": "m", "model": "claude-x", "content": [{"type": "text", "text": "x"}], "usage": {"input_tokens": 5}}
    whole = [
        {"type": "user", "uuid": "a", "sessionId": "s", "message": {"content": "hello"}},
        {"type": "assistant", "uuid": "b", "sessionId": "s", "parentUuid": "a", "message": answer, "extra": "E"},
    ]
    lines = [orjson.dumps(row) for row in whole]
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([*lines, lines[1].replace(b'"E"', b'"\xff"'), lines[1].replace(b'"E"', b"1e999")]))
    reading = read(claude_code, LogFile(path, path.name))
    assert [(row, reason.partition(":")[0]) for row, reason in reading.skips] == [(3, "not valid JSON")]
    assert len(reading.calls) == 1


def test_rows_count_whatever_they_are_called() -> None:
    """A type that looks like what the reader keeps for itself is one like any other; a broken row is skipped once."""
    kinds = ["\0", " " * 41, "same call"]
    strange: list[Row] = [{"type": kind, "sessionId": "s"} for kind in kinds]
    broken = {"type": "attachment", "sessionId": "s", "uuid": "x", "attachment": 1}
    reading = read(claude_code, rows(user("a", None), answer("b", "a", "m"), *strange, broken))
    assert reading.known == {"user": 1, "\0": 1, " " * 40: 1, "same call": 1}
    assert [row for row, _ in reading.skips] == [6]
    assert len(reading.calls) == 1


def test_other_programs_of_the_same_looks_are_left_alone() -> None:
    for row in (
        {"type": "message", "id": "1"},
        {"sessionId": "s", "projectHash": "x", "startTime": "t"},
        {"type": "user", "uuid": "u", "message": {"content": "x"}},
    ):
        assert not claude_code.sniff(rows(row))
    for row in (
        {"type": "summary", "summary": "x", "leafUuid": "1"},
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "mode", "mode": "normal", "sessionId": "s"},
        user("a", None),
    ):
        assert claude_code.sniff(rows(row))
