"""Bedrock invocation logs: records and CloudWatch exports, Converse and InvokeModel, large bodies, refused calls."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hitledger.logs import bedrock
from hitledger.logs.files import LogFile
from hitledger.types import Evidence
from log_reading import CORPUS, FIXTURES, fixture, folder, read, usage, written

LOG = "bedrock/invocations.jsonl"


def test_records() -> None:
    found = read(bedrock, fixture(LOG))
    assert [usage(call) for call in found.calls] == [
        (4, 0, 0, 38),
        (4, 0, 1310, 3),
        (4, 1310, 0, 3),
        (4, 1310, 0, 3),
        (4, 1310, 0, 3),
        None,
    ]
    assert [call.api for call in found.calls] == ["converse", "converse", "converse", "messages", "", "converse"]
    nova, _, second, stream, large, throttled = found.calls
    assert nova.model == "amazon.nova-lite-v1:0"
    assert nova.started_at == datetime(2025, 3, 11, 0, 38, 2, tzinfo=UTC)
    assert nova.ended_at == datetime(2025, 3, 11, 0, 38, 2, 302_000, tzinfo=UTC)
    assert second.model == "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert [entry.value for entry in second.route if entry.name == "upstream"] == ['"us-west-2"']
    assert stream.generated_text == "Free."
    assert large.evidence is Evidence.USAGE_ONLY
    assert {"body_stored_elsewhere", "input_convention_assumed"} <= set(large.notes)
    assert throttled.status == 429
    assert found.known == {"no model call": 1}


def test_marks_and_a_caller_is_a_session() -> None:
    first, second = read(bedrock, fixture(LOG)).calls[1:3]
    assert "5m" in {segment.mark for segment in first.prompt.segments()}
    assert first.session == second.session
    assert first.session.startswith("caller ")
    assert "000000000000" not in repr((first, second))


def test_cloudwatch_export_with_a_byte_order_mark() -> None:
    found = read(bedrock, fixture("bedrock/cloudwatch_export.json"))
    assert [usage(call) for call in found.calls] == [(4, 0, 1310, 3), (4, 1310, 0, 3)]
    assert found.skips == [(3, "not a model invocation record")]


def test_a_record_in_both_counts_once() -> None:
    assert len(read(bedrock, *folder("bedrock")).calls) == 6


def test_results_of_a_logs_insights_query(tmp_path: Path) -> None:
    record = (FIXTURES / LOG).read_text().splitlines()[1]
    row = [{"field": "@timestamp", "value": "2026-05-04"}, {"field": "@message", "value": record}]
    file = written(tmp_path, "insights.json", json.dumps({"results": [row], "status": "Complete"}))
    assert bedrock.sniff(file)
    assert [usage(call) for call in read(bedrock, file).calls] == [(4, 0, 1310, 3)]


def test_the_session_that_a_request_names(tmp_path: Path) -> None:
    record = json.loads((FIXTURES / LOG).read_text().splitlines()[1])
    record["requestMetadata"] = {"session_id": "harbour-7"}
    record["input"]["inputBodyJson"]["newField"] = {"of": "a later schema"}
    (call,) = read(bedrock, written(tmp_path, "one.jsonl", json.dumps(record))).calls
    assert call.session == "harbour-7"


def test_damage(tmp_path: Path) -> None:
    lines = (FIXTURES / LOG).read_text().splitlines()
    record = json.loads(lines[1])
    record["output"].pop("outputBodyJson")
    record["output"].pop("outputTokenCount")
    record["input"] = {"inputBodyJson": record["input"]["inputBodyJson"]}
    odd = [lines[0], json.dumps(record), '{"schemaType": "ModelInvocationLog"}', "7", lines[2][:300]]
    found = read(bedrock, written(tmp_path, "odd.jsonl", "\n".join(odd)))
    assert [usage(call) for call in found.calls] == [(4, 0, 0, 38), None]
    assert "usage_missing" in found.calls[1].notes
    assert len(found.skips) == 3


def test_an_empty_export(tmp_path: Path) -> None:
    found = read(bedrock, written(tmp_path, "empty.json", '{"events": []}'))
    assert found.ledgers[0].rows == 0


def test_an_export_that_was_cut(tmp_path: Path) -> None:
    text = (FIXTURES / "bedrock/cloudwatch_export.json").read_text(encoding="utf-8-sig")
    found = read(bedrock, written(tmp_path, "cut.json", text[: text.index("START of")]))
    assert [usage(call) for call in found.calls] == [(4, 0, 1310, 3), (4, 1310, 0, 3)]
    assert len(found.skips) == 1


def test_a_document_with_a_record_in_it() -> None:
    found = list(CORPUS.glob("bedrock/*setup.md"))
    if not found:
        pytest.skip("the corpus of real logs is not there")
    file = LogFile(found[0], found[0].name)
    assert bedrock.sniff(file)
    assert [usage(call) for call in read(bedrock, file).calls] == [(4, 0, 0, 38)]
