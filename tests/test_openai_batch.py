"""Batch files: requests and results joined by their id, over files."""

import json
from pathlib import Path

from hitledger.logs import bodies, openai_batch
from hitledger.types import Evidence
from log_reading import FIXTURES, fixture, folder, read, usage, written


def test_requests_and_results_of_two_batches() -> None:
    found = read(openai_batch, *folder("batch"))
    anthropic = [call for call in found.calls if call.provider == "anthropic"]
    assert [(call.id, usage(call)) for call in anthropic] == [
        ("msg_b1", (12, 0, 1310, 3)),
        ("msg_b2", (12, 1310, 0, 3)),
    ]
    openai = [call for call in found.calls if call.provider == "openai"]
    assert [usage(call) for call in openai[:4]] == [(25 + n, None, None, 2) for n in range(4)]
    assert [call.status for call in openai[4:6]] == [429, 408]
    assert all(call.notes == ("no_result_in_batch", "usage_missing") for call in openai[6:])
    assert len(openai) == 10
    assert {call.tier for call in found.calls} == {"batch"}
    left = found.calls[-1]
    assert (left.id, left.status, left.evidence) == ("h-9", 408, Evidence.USAGE_ONLY)


def test_requests_alone() -> None:
    calls = read(openai_batch, fixture("batch/input.jsonl")).calls
    assert len(calls) == 10
    assert {call.model for call in calls} == {"gpt-3.5-turbo-0125"}
    assert {call.evidence for call in calls} == {Evidence.EXACT}


def test_results_alone_have_usage_only() -> None:
    calls = read(openai_batch, fixture("batch/output.jsonl")).calls
    assert [usage(call) for call in calls[:2]] == [(25, None, None, 2), (26, None, None, 2)]
    assert {call.evidence for call in calls} == {Evidence.USAGE_ONLY}


def test_ids_that_repeat_from_batch_to_batch_are_joined_with_their_own_results(tmp_path: Path) -> None:
    def request(name: str, text: str) -> str:
        body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": text}]}
        return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})

    def result(name: str, tokens: int) -> str:
        body = {"id": f"c{tokens}", "choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 1}}
        return json.dumps({"custom_id": name, "response": {"status_code": 200, "body": body}})

    files = [
        written(tmp_path, "one.jsonl", "\n".join([request("1", "a"), request("2", "b"), request("3", "c")])),
        written(tmp_path, "two.jsonl", "\n".join([request("1", "x"), request("9", "y")])),
        written(tmp_path, "results_two.jsonl", "\n".join([result("1", 50), result("9", 51)])),
        written(tmp_path, "results_one.jsonl", "\n".join([result("1", 10), result("2", 11), result("3", 12)])),
    ]
    calls = read(openai_batch, *files).calls
    assert [call.input_tokens for call in calls] == [10, 11, 12, 50, 51]


def test_only_batches_are_claimed() -> None:
    for file in folder("batch"):
        assert openai_batch.sniff(file)
        assert not bodies.sniff(file)
    assert not openai_batch.sniff(fixture("bodies/anthropic.jsonl"))


def test_damage(tmp_path: Path) -> None:
    lines = (FIXTURES / "batch/input.jsonl").read_text().splitlines()
    odd = [lines[0], lines[0], '{"custom_id": "x"}', '{"custom_id": 5, "body": {}}', "[1]", lines[1][:40]]
    found = read(openai_batch, written(tmp_path, "odd.jsonl", "\n".join(odd)))
    assert len(found.calls) == 1
    assert [row for row, _ in found.skips] == [6, 2, 3, 4, 5] or sorted(row for row, _ in found.skips) == [
        2,
        3,
        4,
        5,
        6,
    ]
    assert "comes twice" in dict(found.skips)[2]
