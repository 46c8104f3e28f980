"""LangSmith: posts and patches merged, runs in lines, chains that repeat their children."""

from datetime import timedelta

from hitledger.types import Evidence
from log_fixtures import claims, figures, made, paths, read
from log_reading import fixture

RUNS = fixture("langsmith/runs.jsonl")
BATCHES = [fixture(f"langsmith/wrap-openai-{name}.json") for name in ("js", "py-stream", "no-usage")]


def test_batches_are_merged_by_id() -> None:
    for file in BATCHES:
        assert claims(file) == ["langsmith"]
        _, ledger = read("langsmith", file)
        assert (ledger.rows, ledger.calls, ledger.known_rows) == (2, 1, {"same call": 1})
    calls, _ = read("langsmith", *BATCHES)
    assert [figures(call) for call in calls] == [(9, 0, None, 9), (9, 0, None, 9), None]
    assert [call.notes for call in calls] == [(), (), ("usage_missing",)]
    assert {(call.evidence, call.model, call.served_model) for call in calls} == {
        (Evidence.EXACT, "gpt-4o-mini", "gpt-4o-mini-2024-07-18")
    }
    assert calls[1].first_token_at is not None
    assert calls[1].started_at is not None
    assert calls[1].first_token_at - calls[1].started_at == timedelta(microseconds=1238419)


def test_the_parts_of_a_run_may_lie_in_two_files() -> None:
    post = {
        "post": [
            {"id": "r", "trace_id": "r", "run_type": "llm", "start_time": 1728803137170, "inputs": {"messages": []}}
        ]
    }
    patch = {"patch": [{"dotted_order": "20241013T070537170001Zr", "outputs": {"usage_metadata": {"input_tokens": 3}}}]}
    calls, ledger = read("langsmith", made(post, name="a"), made(patch, name="b"))
    assert [figures(call) for call in calls] == [(3, None, None, None)]
    assert ledger.file == "a"


def test_runs_of_langchain() -> None:
    calls, ledger = read("langsmith", RUNS)
    assert claims(RUNS) == ["langsmith"]
    assert (ledger.rows, ledger.known_rows) == (5, {"other span": 1, "tool span": 1})
    assert [figures(call) for call in calls] == [(20, 0, {"": 1500}, 30), (40, 1500, {"": 100}, 12), None]
    assert [call.status for call in calls] == [200, 200, 429]
    assert {(call.session, call.provider, call.evidence) for call in calls} == {
        ("thread-7", "anthropic", Evidence.EXACT)
    }
    assert paths(calls[0]) == ["tools[0]", "messages[0].content", "messages[1].content"]
    assert paths(calls[1])[-2:] == ["messages[2].tool_calls[0]", "messages[3]"]


def test_a_list_of_runs() -> None:
    file = made([{"id": "a", "run_type": "llm", "prompt_tokens": 3}, {"id": "b", "run_type": "chain"}])
    assert claims(file) == ["langsmith"]
    calls, ledger = read("langsmith", file)
    assert (len(calls), ledger.known_rows, ledger.notes) == (1, {"other span": 1}, {"usage_missing": 1})
