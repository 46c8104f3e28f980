"""Inspect AI: both containers, attachments, pooled messages, hostile archives."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from hitledger.logs import inspect_ai, inspect_archive
from hitledger.logs.inspect_archive import resolved
from hitledger.types import Evidence, Kind
from log_reading import fixture, read, usage, written

HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "eval_id": "e", "model": "openai/gpt-5"}}


def model_event(**fields: object) -> dict[str, object]:
    output = {"model": "gpt-5", "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}}
    message = {"role": "user", "content": "hi"}
    event = {"event": "model", "model": "openai/gpt-5", "input": [message], "tools": [], "output": output}
    return {**event, "timestamp": "2026-01-01T00:00:00Z", **fields}


def log(*events: object, **sample: object) -> str:
    return json.dumps({**HEADER, "samples": [{"id": 1, "epoch": 1, "events": list(events), **sample}]})


def archive(**members: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("header.json", json.dumps(HEADER))
        for name, data in members.items():
            target.writestr(f"samples/{name}.json", data)
    return content.getvalue()


def test_raw_body_is_the_prompt() -> None:
    found = read(inspect_ai, fixture("inspect-ai/log_read_sample.json"))
    call = found.calls[0]
    assert usage(call) == (66, None, None, 3)
    assert call.evidence is Evidence.EXACT
    assert not any("attachment://" in (segment.text or "") for segment in call.prompt.segments())
    assert found.known["span_begin"] == 6


def test_messages_of_the_pool_grow() -> None:
    found = read(inspect_ai, fixture("inspect-ai/log_message_deduplication.eval"))
    assert len(found.calls) == 6
    prompts = [call.prompt.segments() for call in found.calls]
    assert [len(each) for each in prompts] == [4, 7, 10, 13, 16, 19]
    assert prompts[1][:4] == prompts[0]
    assert [segment.kind for segment in prompts[0]] == [Kind.HIDDEN, Kind.TOOL, Kind.TOOL, Kind.TEXT]
    assert all(call.evidence is Evidence.RECONSTRUCTED for call in found.calls)


def test_archive_of_four_samples() -> None:
    found = read(inspect_ai, fixture("inspect-ai/log_streaming.eval"))
    assert [call.input_tokens for call in found.calls] == [66, 66, 60, 60]
    assert len({call.session for call in found.calls}) == 4


def test_same_evaluation_in_two_files_counts_once() -> None:
    twice = [fixture("inspect-ai/log_streaming.eval")] * 2
    found = read(inspect_ai, *twice)
    assert (len(found.calls), found.known["same call"]) == (4, 4)


def test_events_that_sent_nothing(tmp_path: Path) -> None:
    events = [model_event(cache="read"), model_event(pending=True, timestamp="x"), model_event()]
    found = read(inspect_ai, written(tmp_path, "log.json", log(*events)))
    assert len(found.calls) == 1
    assert found.known == {"answered from Inspect's own cache": 1, "model call still running": 1}


def test_scorer_has_a_conversation_of_its_own(tmp_path: Path) -> None:
    span = {"event": "span_begin", "id": "s2", "parent_id": None, "type": "scorer", "name": "grade"}
    inner = {"event": "span_begin", "id": "s3", "parent_id": "s2", "type": "x", "name": "y"}
    events = [model_event(span_id="s1"), span, inner, model_event(span_id="s3", timestamp="2026-01-01T00:00:09Z")]
    found = read(inspect_ai, written(tmp_path, "log.json", log(*events)))
    assert [(call.agent, call.parent_agent) for call in found.calls] == [("main", ""), ("scorer:grade", "main")]


def test_provider_usage_beats_inspects_own(tmp_path: Path) -> None:
    raw = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}}
    event = model_event(call={"request": {"model": "gpt-5", "messages": []}, "response": {"usage": raw}})
    assert usage(read(inspect_ai, written(tmp_path, "log.json", log(event))).calls[0]) == (36, 64, None, 5)


def test_attachments_at_any_depth() -> None:
    value = {"a": ["attachment://1", {"b": "attachment://2"}], "c": "attachment://gone", "d": "tc://1"}
    assert resolved(value, {"1": "one", "2": "two"}) == {
        "a": ["one", {"b": "two"}],
        "c": "attachment://gone",
        "d": "one",
    }


def test_attachments_do_not_multiply_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_archive, "MAX_RESOLVED_CHARS", 10)
    assert resolved(["attachment://1"] * 3, {"1": "12345"}) == ["12345", "12345", "attachment://1"]


def test_bomb_is_skipped_and_the_rest_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_archive, "MAX_MEMBER_BYTES", 2**20)
    good = json.dumps({"id": 2, "epoch": 1, "events": [model_event()]}).encode()
    content = archive(bomb=b" " * 2**24, sample=good)
    assert len(content) < 2**16
    found = read(inspect_ai, written(tmp_path, "log.eval", content))
    assert len(found.calls) == 1
    assert found.skips == [(1, f"samples/bomb.json: unpacks to more than {2**20} bytes")]


def test_many_samples_share_one_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_archive, "MAX_ARCHIVE_BYTES", 3 * 2**20)
    content = archive(**{f"s{number}": b"[" + b" " * 2**20 + b"]" for number in range(4)})
    found = read(inspect_ai, written(tmp_path, "log.eval", content))
    assert [reason for _, reason in found.skips] == [
        f"samples/s2.json: unpacks to more than {2**20 - 4} bytes",
        f"1 samples: the archive unpacks to more than {3 * 2**20} bytes",
    ]
    assert found.known == {"sample without events": 2}


def test_damaged_member_is_skipped(tmp_path: Path) -> None:
    good = json.dumps({"id": 2, "epoch": 1, "events": [model_event()]}).encode()
    content = bytearray(archive(bad=b"{" + b"x" * 99, sample=good))
    found = read(inspect_ai, written(tmp_path, "log.eval", bytes(content)))
    assert len(found.calls) == 1
    assert len(found.skips) == 1
