"""MLflow traces of version 3 and 2."""

from hitledger.types import Evidence
from log_fixtures import claims, figures, made, paths, read
from log_reading import fixture

TRACE = fixture("mlflow/trace.json")


def test_trace() -> None:
    calls, ledger = read("mlflow", TRACE)
    assert claims(TRACE) == ["mlflow"]
    assert (ledger.rows, ledger.known_rows) == (3, {"agent span": 1})
    whole, totals = calls
    assert (whole.session, whole.model, whole.served_model) == ("sess-5", "gpt-4.1-mini", "gpt-4.1-mini-2025-04-14")
    assert figures(whole) == (176, 1024, None, 7)  # the provider's own; MLflow's totals have no cache figures
    assert figures(totals) == (80, None, None, 3)
    assert [call.evidence for call in calls] == [Evidence.EXACT, Evidence.RECONSTRUCTED]
    assert paths(whole) == ["tools[0]", "messages[0].content", "messages[1].content"]
    assert (totals.model, totals.provider) == ("claude-sonnet-4-5", "anthropic")


def test_version_two() -> None:
    span = {
        "name": "Completions",
        "context": {"span_id": "0x1", "trace_id": "0x2"},
        "parent_id": None,
        "start_time": 1772445600000000000,
        "end_time": 1772445601000000000,
        "status_code": "OK",
        "attributes": {"mlflow.spanType": '"LLM"', "mlflow.spanInputs": '{"model": "m", "messages": []}'},
        "events": [],
    }
    file = made({"info": {"request_id": "r", "request_metadata": {}}, "data": {"spans": [span]}})
    assert claims(file) == ["mlflow"]
    call = read("mlflow", file)[0][0]
    assert (call.id, call.usage, call.notes) == ("1", None, ("usage_missing",))
