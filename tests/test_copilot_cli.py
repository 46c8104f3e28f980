"""Copilot CLI events: calls without usage of their own, the system prompt, refused requests."""

import json
from pathlib import Path

from hitledger.logs import copilot_cli
from hitledger.types import Evidence, Kind
from log_reading import fixture, read, written

REAL = "copilot-cli/session-state/96ef38f0/events.jsonl"
START = {"type": "session.start", "data": {"sessionId": "s", "copilotVersion": "1", "selectedModel": "gpt-5-mini"}}


def event(kind: str, **data: object) -> dict[str, object]:
    return {"type": kind, "data": data, "id": kind, "timestamp": "2026-01-01T00:00:00Z"}


def write(tmp_path: Path, *events: object) -> list[object]:
    text = "".join(json.dumps(each) + "\n" for each in (START, *events))
    return list(read(copilot_cli, written(tmp_path, "events.jsonl", text)).calls)


def test_usage_is_a_total_of_the_session() -> None:
    found = read(copilot_cli, fixture(REAL))
    assert len(found.calls) == 6
    assert all(call.usage is None and "usage_per_session_only" in call.notes for call in found.calls)
    total = "session total of claude-sonnet-4.6: 6 requests, 186809 input, 151738 read, 2848 output"
    assert dict(found.ledgers[0].notes) == {total: 1}


def test_prompt_holds_the_system_prompt_and_hides_the_tools() -> None:
    calls = read(copilot_cli, fixture(REAL)).calls
    assert [segment.kind for segment in calls[0].prompt.segments()] == [Kind.HIDDEN, Kind.SYSTEM, Kind.TEXT]
    assert calls[5].prompt.segments()[:3] == calls[0].prompt.segments()[:3]
    assert calls[0].evidence is Evidence.RECONSTRUCTED
    assert calls[5].events == ("user_turn",)


def test_refused_request_is_a_call() -> None:
    found = read(copilot_cli, fixture("copilot-cli/session-state/refused-request/events.jsonl"))
    assert [call.status for call in found.calls] == [400, 200, 200]
    assert found.calls[0].id == "provider-call"


def test_changed_system_prompt_takes_the_old_ones_place(tmp_path: Path) -> None:
    said = [event("system.message", content="one"), event("user.message", content="hi")]
    said += [event("assistant.message", content="yes", requestId="1"), event("system.message", content="other")]
    said += [event("assistant.message", content="no", requestId="2")]
    first, second = write(tmp_path, *said)
    assert [segment.chars for segment in second.prompt.segments()] == [0, len("other"), len("hi"), len("yes")]
    assert second.prompt.segments()[2].digest == first.prompt.segments()[2].digest


def test_parts_of_one_answer_count_once(tmp_path: Path) -> None:
    parts = [event("assistant.message", content=part, apiCallId="7", chunkIndex=n) for n, part in enumerate("ab")]
    assert len(write(tmp_path, event("user.message", content="hi"), *parts)) == 1


def test_sub_agent_has_its_own_conversation(tmp_path: Path) -> None:
    said = [event("user.message", content="hi"), event("assistant.message", content="", requestId="1")]
    said += [event("assistant.message", content="inner", requestId="2", parentToolCallId="t1")]
    calls = write(tmp_path, *said)
    assert (calls[1].agent, calls[1].parent_agent, len(calls[1].prompt)) == ("t1", "main", 1)


def test_after_a_truncation_what_was_kept_is_unknown(tmp_path: Path) -> None:
    said = [event("user.message", content="hi"), event("assistant.message", content="yes", requestId="1")]
    said += [event("session.truncation", reason="limit"), event("user.message", content="go")]
    said += [event("assistant.message", content="on", requestId="2")]
    calls = write(tmp_path, *said)
    assert [segment.kind for segment in calls[1].prompt.segments()] == [Kind.HIDDEN, Kind.HIDDEN, Kind.TEXT]
    assert calls[1].events == ("compaction", "user_turn")
