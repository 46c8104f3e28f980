"""Gemini CLI chats: messages written twice, both containers, rewinds and replaced histories."""

import json
from pathlib import Path

from hitledger.logs import gemini_cli
from hitledger.types import Kind
from log_reading import fixture, read, usage, written

LINES = "gemini-cli/tmp/0000/chats/session-2026-04-23.jsonl"
HEAD = {"sessionId": "s", "projectHash": "0", "kind": "main"}
TOKENS = {"input": 100, "output": 5, "cached": 40, "thoughts": 2, "tool": 0, "total": 107}


def rows(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def test_message_written_twice_is_one_request() -> None:
    found = read(gemini_cli, fixture(LINES))
    assert [usage(call) for call in found.calls] == [
        (13906, 0, None, 185 + 306),  # thoughts are counted beside the output
        (29082 - 8156, 8156, None, 89 + 642),
        (38324, 0, None, 1172 + 232),
        (40914 - 32637, 32637, None, 351 + 161),
        (40122 - 8158, 8158, None, 89 + 348),
        (40238, 0, None, 266 + 452),
    ]
    assert found.known["same call"] == 5
    assert found.calls[5].model == "gemini-3.1-pro-preview"


def test_tool_calls_of_the_second_writing_are_in_the_next_prompt() -> None:
    calls = read(gemini_cli, fixture(LINES)).calls
    added = calls[1].prompt.segments()[len(calls[0].prompt) :]
    assert [segment.kind for segment in added] == [*[Kind.TOOL_USE] * 5, *[Kind.TOOL_RESULT] * 5]


def test_request_starts_no_earlier_than_the_last_tool() -> None:
    call = read(gemini_cli, fixture(LINES)).calls[1]
    assert call.started_at
    assert call.started_at.isoformat() == "2026-04-23T12:53:11.357000+00:00"
    assert "start_estimated" in call.notes


def test_tool_tokens_stand_beside_the_input() -> None:
    found = read(gemini_cli, fixture("gemini-cli/tmp/1111/chats/session-2025-12-03.json"))
    assert usage(found.calls[0]) == (125 + 50, 0, None, 450 + 200)


def test_early_format_holds_no_tokens() -> None:
    found = read(gemini_cli, fixture("gemini-cli/tmp/1111/chats/session-early.json"))
    assert (found.calls, found.known) == ([], {"message of the early format, without tokens": 2})


def test_rewind_and_replaced_history(tmp_path: Path) -> None:
    user = {"id": "u1", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": [{"text": "one"}]}
    first = {"id": "g1", "timestamp": "2026-01-01T00:00:05Z", "type": "gemini", "content": "a", "tokens": TOKENS}
    again = {**user, "id": "u2", "content": [{"text": "two"}]}
    second, third = {**first, "id": "g2"}, {**first, "id": "g3"}
    replaced = {"$set": {"messages": [{"type": "user", "content": "summary"}]}}
    text = rows(HEAD, user, first, {"$rewindTo": "u1"}, again, second, replaced, third)
    calls = read(gemini_cli, written(tmp_path, "c.jsonl", text)).calls
    assert [segment.chars for segment in calls[1].prompt.segments()[1:]] == [len("two")]
    assert calls[1].events == ("rewind", "user_turn")
    assert [segment.chars for segment in calls[2].prompt.segments()[1:]] == [len("summary")]
    assert calls[2].events == ("compaction",)
