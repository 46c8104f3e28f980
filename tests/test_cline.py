"""Tasks of Cline, Roo and Kilo; the Cline SDK; nock recordings."""

import json
from decimal import Decimal
from pathlib import Path

from hitledger.logs import cline, cline_sdk, nock
from hitledger.logs.files import LogFile
from hitledger.types import Evidence, Kind
from log_reading import FIXTURES, Reading, fixture, read, usage, written

TASK = "cline/tasks/bc93a6f7-cd2e-4686-a832-46e3cd14d338"


def task() -> Reading:
    names = ("api_conversation_history.json", "task_metadata.json", "ui_messages.json")
    return read(cline, *(fixture(f"{TASK}/{name}") for name in names))


def screen(tmp_path: Path, *requests: dict[str, object]) -> Reading:
    rows = [
        {"ts": 1760000000000 + position * 1000, "type": "say", "say": "api_req_started", "text": json.dumps(request)}
        for position, request in enumerate(requests)
    ]
    return read(cline, written(tmp_path, "ui_messages.json", json.dumps(rows)))


def test_real_task() -> None:
    found = task()
    used = [call.usage for call in found.calls if call.usage]
    assert (len(found.calls), len(used)) == (30, 30)
    assert sum(each.input_tokens for each in used) == 1_728_818
    assert sum(each.cache_read_tokens or 0 for each in used) == 1_039_280
    assert sum(each.cache_write_tokens or 0 for each in used) == 689_253
    assert round(sum(call.logged_cost or Decimal(0) for call in found.calls), 4) == Decimal("2.9000")
    assert all("logged_cost_omits_output" in call.notes for call in found.calls)
    assert found.known["same call"] == 30  # the answers in the conversation history
    assert {call.session for call in found.calls} == {"bc93a6f7-cd2e-4686-a832-46e3cd14d338"}


def test_prompts_come_from_the_conversation() -> None:
    calls = task().calls
    assert all(call.evidence is Evidence.RECONSTRUCTED for call in calls)
    assert [segment.kind for segment in calls[0].prompt.segments()] == [Kind.HIDDEN, *[Kind.TEXT] * 3]
    assert calls[1].prompt.segments()[4].path == "[1].content[0].text"
    assert calls[0].ended_at
    assert calls[0].ended_at.isoformat() == "2025-09-17T13:28:56.910000+00:00"


def test_what_happened_before_a_request() -> None:
    events = [call.events for call in task().calls]
    assert events[0] == ("user_turn", "resume")
    assert events.count(("user_turn",)) == 4
    assert sum("resume" in each for each in events) == 8  # five resumes and three sub-tasks that came back


def test_protocol_changes_inside_a_file(tmp_path: Path) -> None:
    figures = {"tokensIn": 1000, "tokensOut": 5, "cacheWrites": 100, "cacheReads": 300, "cost": 0.5}
    found = screen(tmp_path, {**figures, "apiProtocol": "anthropic"}, {**figures, "apiProtocol": "openai"}, figures)
    assert [usage(call) for call in found.calls] == [
        (1000, 300, 100, 5),
        (600, 300, 100, 5),
        (1000, 300, 100, 5),  # before the field existed, and in Cline: without the cached part
    ]
    assert ["logged_cost_omits_output" in call.notes for call in found.calls] == [True, False, False]


def test_cancelled_request(tmp_path: Path) -> None:
    found = screen(tmp_path, {"request": "hi", "cancelReason": "user_cancelled"})
    assert [(call.usage, call.notes) for call in found.calls] == [(None, ("cancelled:user_cancelled",))]


def test_model_that_roo_writes_into_the_prompt(tmp_path: Path) -> None:
    found = screen(tmp_path, {"request": "<model>claude-sonnet-4</model>", "tokensIn": 1, "apiProtocol": "anthropic"})
    assert (found.calls[0].model, found.calls[0].provider) == ("claude-sonnet-4", "anthropic")


def test_history_alone_counts_its_answers() -> None:
    found = read(cline, fixture(f"{TASK}/api_conversation_history.json"))
    assert len(found.calls) == 30
    assert all(call.usage is None and "usage_missing" in call.notes for call in found.calls)


def test_requests_before_a_condensation_have_no_prompt(tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    rows = [
        {"ts": moment, "type": "say", "say": "api_req_started", "text": json.dumps({"tokensIn": 1})}
        for moment in (1760000000000, 1760000100000)
    ]
    said = [
        {"role": "user", "ts": 1760000090000, "content": [{"type": "text", "text": "sum"}], "isSummary": True},
        {"role": "assistant", "ts": 1760000105000, "content": [{"type": "text", "text": "ok"}]},
    ]
    (tmp_path / "task/ui_messages.json").write_text(json.dumps(rows))
    (tmp_path / "task/api_conversation_history.json").write_text(json.dumps(said))
    files = [LogFile(path, f"task/{path.name}") for path in sorted((tmp_path / "task").iterdir())]
    calls = read(cline, *files).calls
    assert [call.evidence for call in calls] == [Evidence.USAGE_ONLY, Evidence.RECONSTRUCTED]
    assert [len(call.prompt) for call in calls] == [0, 2]


def test_sdk_session_counts_kept_messages_once() -> None:
    folder = FIXTURES / "cline-sdk/1784094124598"
    found = read(cline_sdk, *(LogFile(path, path.name) for path in sorted(folder.iterdir())))
    assert len(found.calls) == 16
    assert usage(found.calls[1]) == (1580, 34332, 0, 164)  # 35,912 with the cached part in it
    assert found.calls[1].logged_cost == Decimal("0.06539085")
    assert [s.kind for s in found.calls[0].prompt.segments()][:2] == [Kind.HIDDEN, Kind.SYSTEM]
    assert found.known["message kept by a compaction"] == 3


def test_nock_has_usage_and_no_prompt() -> None:
    found = read(nock, fixture("nock/per-turn-metrics.json"))
    assert [usage(call) for call in found.calls] == [(750, 200, 50, 25), (570, 900, 30, 40)]
    assert [call.logged_cost for call in found.calls] == [Decimal("0.0011"), Decimal("0.0019")]
    assert all(call.evidence is Evidence.USAGE_ONLY and len(call.prompt) == 0 for call in found.calls)
