"""Vercel AI SDK: both spellings of the figures in one dump, outer spans, a provider that counts cached tokens apart."""

import json
from datetime import UTC, datetime

from hitledger.types import Evidence
from log_fixtures import claims, content_of, figures, made, paths, read
from log_reading import fixture

DUMP, OTLP = fixture("vercel-ai-sdk/all-spans.json"), fixture("vercel-ai-sdk/otlp.json")


def test_dump_of_the_javascript_sdk() -> None:
    calls, ledger = read("vercel-ai-sdk", DUMP)
    assert claims(DUMP) == ["vercel-ai-sdk"]
    assert (ledger.rows, ledger.calls) == (10, 4)
    assert ledger.known_rows == {"outer span": 4, "embedding": 2}
    assert [figures(call) for call in calls] == [
        (14, None, None, 20),
        (50, None, None, 9),
        (63, None, None, 156),
        (15, 0, None, 112),  # a stream: other names, and the cached tokens
    ]
    assert calls[0].started_at == datetime(2026, 2, 3, 15, 19, 52, 242000, tzinfo=UTC)
    assert calls[3].first_token_at is not None
    assert (calls[3].first_token_at - calls[3].started_at).total_seconds() == 0.426854  # type: ignore[operator]
    assert {call.provider for call in calls} == {"openai"}


def test_without_recorded_tools_there_were_none_but_the_schema_of_an_object_is_not_there() -> None:
    calls, _ = read("vercel-ai-sdk", DUMP)
    assert [call.evidence for call in calls] == [Evidence.EXACT, Evidence.EXACT, Evidence.RECONSTRUCTED, Evidence.EXACT]
    assert paths(calls[1]) == ["messages[0].content", *(f"messages[{i}].content[0].text" for i in (1, 2, 3))]


def test_provider_usage_in_the_metadata_and_an_exclusive_provider() -> None:
    calls, ledger = read("vercel-ai-sdk", OTLP)
    assert claims(OTLP) == ["vercel-ai-sdk"]
    assert ledger.known_rows == {"tool span": 1, "outer span": 1}
    assert [figures(call) for call in calls] == [(30, 0, {"": 1800}, 9), (44, 1800, None, 12)]
    assert paths(calls[1])[3:] == ["messages[2].tool_calls[0]", "messages[3]"]
    assert {call.provider for call in calls} == {"anthropic"}


def test_spans_by_operation() -> None:
    spans = json.loads(content_of(DUMP))
    grouped = made({"ai.streamText.doStream": [spans[6]], "ai.streamText": [spans[7]]})
    assert claims(grouped) == ["vercel-ai-sdk"]
    calls, ledger = read("vercel-ai-sdk", grouped)
    assert (len(calls), ledger.known_rows) == (1, {"outer span": 1})


def test_a_file_of_outer_spans_alone_has_no_calls() -> None:
    spans = json.loads(content_of(DUMP))
    calls, ledger = read("vercel-ai-sdk", made([spans[1], spans[3]]))
    assert (calls, ledger.known_rows) == ([], {"outer span": 2})


def test_the_same_spans_in_two_files_count_once() -> None:
    calls, _ = read("vercel-ai-sdk", DUMP, DUMP)
    assert len(calls) == 4
