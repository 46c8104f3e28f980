"""Langfuse: disjoint details, figures that Langfuse made up, generations inside generations."""

import json
from typing import Any

import pytest

from hitledger.types import Evidence
from log_fixtures import claims, figures, made, paths, read
from log_reading import fixture

VERCEL, AGNO = fixture("langfuse/vercel-nested.trace.json"), fixture("langfuse/agno-nested.trace.json")
OBSERVATIONS = fixture("langfuse/observations.jsonl")


def observation(**fields: Any) -> dict[str, Any]:
    given = {"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "2026-03-02T10:00:00Z", "model": "gpt-5"}
    return {**given, **fields}


def test_outer_generations_count_once() -> None:
    calls, ledger = read("langfuse", VERCEL)
    assert claims(VERCEL) == ["langfuse"]
    assert ledger.known_rows == {"outer span": 1, "tool span": 1}
    assert [figures(call) for call in calls] == [(62, None, None, 85)]
    assert (calls[0].evidence, calls[0].model) == (Evidence.EXACT, "gpt-5")


def test_inner_generations_have_the_provider_figures() -> None:
    calls, ledger = read("langfuse", AGNO)
    assert ledger.known_rows == {"other span": 2, "outer span": 2}
    assert [figures(call) for call in calls] == [(163, None, None, 20), (663, None, None, 225)]
    assert {call.session for call in calls} == {"session-1"}


def test_details_are_disjoint_and_observations_sorted() -> None:
    calls, ledger = read("langfuse", OBSERVATIONS)
    assert claims(OBSERVATIONS) == ["langfuse"]
    assert (ledger.rows, ledger.known_rows) == (3, {"other span": 1})
    assert [call.id for call in calls] == ["obs-1", "obs-2"]
    assert [figures(call) for call in calls] == [(40, None, {"5m": 2000}, 40), (40, 2000, {"5m": 300}, 20)]
    assert paths(calls[0]) == ["tools[0]", "messages[0].content", "messages[1].content"]
    assert [call.evidence for call in calls] == [Evidence.EXACT] * 2


def test_the_total_decides_where_a_writer_did_not_subtract() -> None:
    details = {"input": 2400, "prompt_details.cache_read": 2000, "output": 5, "total": 2405}
    assert figures(read("langfuse", made(observation(usageDetails=details)))[0][0]) == (400, 2000, None, 5)


def test_figures_of_langfuses_own_tokenizer_are_no_report() -> None:
    """A span that came over OTel without figures: what `usageDetails` says was counted over the recorded text."""
    metadata = {"attributes": {"gen_ai.system": "openai"}, "scope": {"name": "ai.koog"}}
    record = observation(usageDetails={"input": 168, "output": 19, "total": 187}, metadata=json.dumps(metadata))
    calls, ledger = read("langfuse", made(record))
    assert (calls[0].usage, calls[0].notes) == (None, ("usage_estimated_by_langfuse",))
    assert ledger.notes == {"usage_estimated_by_langfuse": 1}
    sent = {**metadata, "attributes": {"gen_ai.usage.input_tokens": "168"}}
    assert figures(read("langfuse", made({**record, "metadata": sent}))[0][0]) == (168, None, None, 19)
    assert read("langfuse", made(observation(usageDetails={"input": 1}, providedUsageDetails={})))[0][0].usage is None


def test_export_to_a_bucket_has_other_names() -> None:
    record: dict[str, Any] = {
        "id": "o",
        "trace_id": "t",
        "type": "GENERATION",
        "start_time": "2026-03-02 10:00:00.000",
        "model": "gpt-5",
    }
    record |= {"usage_details": {"input": 7, "output": 2, "total": 9}, "parent_observation_id": None}
    assert claims(made(record)) == ["langfuse"]
    assert figures(read("langfuse", made(record))[0][0]) == (7, None, None, 2)


TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("fields", "api", "expected"),
    [
        ({"input": "Why?"}, "chat", ["", "messages[0].content"]),
        (
            {"input": '[{"role":"user","parts":[{"type":"text","content":"Why?"}]}]'},
            "chat",
            ["", "messages[0].content[0].text"],
        ),
        (
            {"input": [{"role": "user", "content": "Why?"}, {"role": "tool", "content": TOOL}]},
            "chat",
            ["tools[0]", "messages[0].content"],
        ),
        (
            {"input": {"model": "gemini-2.5-pro", "config": {"system_instruction": "S"}, "contents": "Why?"}},
            "generate-content",
            ["system_instruction", "contents"],
        ),
        (
            {
                "input": [{"role": "user", "content": "Why?"}],
                "output": {"object": "response", "instructions": "I", "tools": [TOOL]},
            },
            "responses",
            ["tools[0]", "instructions", "input[0].content"],
        ),
    ],
)
def test_shapes_of_the_input(fields: dict[str, Any], api: str, expected: list[str]) -> None:
    call = read("langfuse", made(observation(**fields)))[0][0]
    assert (call.api, paths(call)) == (api, expected)


def test_resource_names_of_models_lose_the_account() -> None:
    name = "projects/secret-project/locations/eu/publishers/google/models/gemini-2.5-flash"
    call = read("langfuse", made(observation(model=name)))[0][0]
    assert (call.model, call.provider) == ("gemini-2.5-flash", "vertex")


def test_copies_of_a_trace_count_once() -> None:
    assert len(read("langfuse", VERCEL, VERCEL)[0]) == 1
