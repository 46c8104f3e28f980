"""Kimi's wire logs and Qwen Code's chats."""

import json
from pathlib import Path

from hitledger.logs import claude_code, kimi, qwen_code, refused
from hitledger.logs.ingest import Ingest
from hitledger.types import Kind
from log_reading import FIXTURES, fixture, read, usage, written

WIRE = "kimi/sessions/wd/0001/agents/main/wire.jsonl"


def test_every_request_is_a_call() -> None:
    found = read(kimi, fixture(WIRE))
    assert [usage(call) for call in found.calls] == [
        None,
        None,
        (9431, 14848, 0, 42),
        (267, 24064, 0, 42),
        (155, 24320, 0, 55),
        (310, 24320, 0, 137),
        (1411, 40960, 0, 937),
    ]
    assert [call.notes for call in found.calls[:2]] == [("no_response",)] * 2
    assert found.calls[-1].purpose == "compaction"
    assert all(call.provider == "moonshot" for call in found.calls)


def test_latencies() -> None:
    call = read(kimi, fixture(WIRE)).calls[2]
    assert call.started_at
    assert call.first_token_at
    assert call.ended_at
    assert (call.first_token_at - call.started_at).total_seconds() == 3.287
    assert (call.ended_at - call.first_token_at).total_seconds() == 0.895


def test_hashes_stand_for_system_prompt_and_tools(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (FIXTURES / WIRE).read_text().splitlines()]
    changed = [{**row, "toolsHash": "other"} if row.get("turnStep") == "3.2" else row for row in rows]
    text = "".join(json.dumps(row) + "\n" for row in changed)
    calls = read(kimi, written(tmp_path, "wire.jsonl", text)).calls
    before, after = calls[3].prompt.segments(), calls[4].prompt.segments()
    assert [segment.kind for segment in before[:3]] == [Kind.HIDDEN, Kind.HIDDEN, Kind.TEXT]
    assert before[0].digest != after[0].digest
    assert before[1:] == after[1 : len(before)]


def test_answer_in_two_rows_and_a_rewind() -> None:
    found = read(qwen_code, fixture("qwen-code/chats/019f0004.jsonl"))
    assert [usage(call) for call in found.calls] == [None, (12, None, None, 4)]
    assert [call.model for call in found.calls] == ["synthetic-dead-model", "synthetic-active-model"]
    assert [segment.kind for segment in found.calls[1].prompt.segments()] == [Kind.HIDDEN, Kind.TEXT, Kind.TEXT]
    assert found.calls[1].events == ("rewind", "user_turn")
    assert found.known["same call"] == 1


def test_qwen_is_not_claude_code() -> None:
    assert not claude_code.sniff(fixture("qwen-code/chats/019f0004.jsonl"))


def test_recognised_files_are_refused_with_the_reason() -> None:
    ingest = Ingest()
    files = tuple(fixture(f"refused/{name}") for name in ("cursor.jsonl", "droid-stream.jsonl", "hermes.json"))
    assert all(refused.sniff(file) for file in files)
    assert list(refused.read(files, ingest)) == []
    assert [refusal.reason.partition(":")[0] for refusal in ingest.refusals] == [
        "Cursor transcript",
        "Droid stream",
        "Hermes session",
    ]
