"""The scenario files: every request a call, with what its engine and its headers say."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hitledger.logs import bodies, scenario
from hitledger.types import EngineHint, Evidence
from log_reading import FIXTURES, fixture, read, usage, written

NAMES = sorted(path.name for path in (FIXTURES / "scenarios").glob("*.json"))


def test_all_are_there() -> None:
    assert len(NAMES) == 26


@pytest.mark.parametrize("name", NAMES)
def test_every_request_is_a_call(name: str) -> None:
    file = fixture(f"scenarios/{name}")
    document = json.loads((FIXTURES / "scenarios" / name).read_text())
    assert scenario.sniff(file)
    assert not bodies.sniff(file)
    calls = read(scenario, file).calls
    assert [call.id for call in calls] == [request["request_id"] for request in document["requests"]]
    assert [call.status for call in calls] == [request["status"] for request in document["requests"]]
    assert [call.usage is None for call in calls] == ["usage" not in request for request in document["requests"]]
    assert all(call.evidence is Evidence.EXACT and len(call.prompt) and call.started_at for call in calls)


def test_usage_and_marks() -> None:
    calls = read(scenario, fixture("scenarios/36-ttl-1h-gaps.json")).calls
    assert usage(calls[0]) == (3, 0, 645, 140)
    assert calls[0].usage is not None
    assert [(write.ttl, write.tokens) for write in calls[0].usage.cache_writes or ()] == [("1h", 645)]
    assert "1h" in {segment.mark for segment in calls[0].prompt.segments()}


def test_the_engine_and_what_it_generated() -> None:
    calls = read(scenario, fixture("scenarios/20-template-drops-empty-think.json")).calls
    engine = calls[0].engine
    assert isinstance(engine, EngineHint)
    assert (engine.kind, engine.block_tokens, engine.caches_generated_tokens) == ("local", 16, True)
    assert engine.special_tokens == ("<|im_start|>", "<|im_end|>", "<think>", "</think>")
    assert engine.chat_template is not None
    assert engine.chat_template.startswith("{% for m in messages %}")
    assert calls[0].generated_text is not None
    assert calls[0].generated_text.startswith("A tanker load")
    tool = read(scenario, fixture("scenarios/17-tool-arguments-resorted.json")).calls[0]
    assert tool.generated_text is not None
    assert json.loads(tool.generated_text)["page_id"] == "lot-4417"


def test_what_stands_beside_the_body() -> None:
    calls = read(scenario, fixture("scenarios/33-account-rotation.json")).calls
    assert [next(entry.value for entry in call.route if entry.name == "account") for call in calls] == [
        '"org-A"',
        '"org-A"',
        '"org-B"',
        '"org-A"',
    ]
    first = read(scenario, fixture("scenarios/15-parallel-cold-fanout.json")).calls[0]
    assert first.first_token_at == datetime(2026, 8, 4, 9, 0, 1, 200_000, tzinfo=UTC)
    assert read(scenario, fixture("scenarios/12-tool-choice-none-aside.json")).calls[2].purpose == "title"
    assert "resume" in read(scenario, fixture("scenarios/06-work-tree-state-in-system.json")).calls[2].events
    refused = read(scenario, fixture("scenarios/32-five-breakpoints-400.json")).calls[1]
    assert (refused.status, refused.usage) == (400, None)


def test_token_ids(tmp_path: Path) -> None:
    row = {
        "request_id": "q1",
        "session_id": "s",
        "status": 200,
        "timestamp": "2026-08-04T09:00:00Z",
        "body": {"model": "local", "prompt_token_ids": list(range(20))},
        "output_token_ids": [7, 8],
        "response_provider": "host-b",
    }
    document = {"format": "token-ids", "engine": {"kind": "local", "block_tokens": 4}, "requests": [row]}
    (call,) = read(scenario, written(tmp_path, "ids.json", json.dumps(document))).calls
    assert call.prompt_ids == tuple(range(20))
    assert call.generated_ids == (7, 8)
    assert [segment.kind for segment in call.prompt.segments()] == ["tokens", "tokens"]
    assert [(entry.name, entry.value) for entry in call.route] == [("upstream", '"host-b"')]


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    text = (FIXTURES / "scenarios/09-ttl-5m-gap.json").read_text()
    file = written(tmp_path, "cut.json", text[: text.index('"request_id": "', text.index('"request_id": "') + 20)])
    found = read(scenario, file)
    assert len(found.calls) == 1
    assert found.skips == [(2, "the file ends inside this record")]


def test_requests_of_the_wrong_type(tmp_path: Path) -> None:
    good = {"body": {"model": "m", "messages": [{"role": "user", "content": "x"}]}, "later": True}
    document = {"format": "openai-chat", "requests": [good, 5, {"body": "text"}]}
    found = read(scenario, written(tmp_path, "odd.json", json.dumps(document)))
    assert [call.usage for call in found.calls] == [None]
    assert found.skips == [(2, "a request without a body"), (3, "a request without a body")]
    assert read(scenario, written(tmp_path, "empty.json", '{"format": "openai-chat", "requests": []}')).calls == []
