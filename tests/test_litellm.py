"""LiteLLM: payloads and spend logs in files."""

from datetime import UTC, datetime
from decimal import Decimal

from hitledger.types import Evidence
from log_fixtures import claims, figures, made, paths, read
from log_reading import fixture

PAYLOADS, SPEND = fixture("litellm/payloads.jsonl"), fixture("litellm/spend_logs.json")


def test_payloads() -> None:
    calls, ledger = read("litellm", PAYLOADS)
    assert claims(PAYLOADS) == ["litellm"]
    assert (ledger.rows, ledger.calls) == (6, 4)
    assert ledger.known_rows == {"answered by the gateway's own cache": 1, "aembedding request": 1}
    assert [figures(call) for call in calls] == [
        (10, None, None, 20),
        (40, 0, {"": 2000}, 25),  # prompt_tokens 2,040 holds what was written
        (40, 2000, {"": 70}, 12),
        None,
    ]
    assert [call.status for call in calls] == [200, 200, 200, 529]
    assert {call.evidence for call in calls} == {Evidence.EXACT}
    second = calls[1]
    assert (second.session, second.provider, second.model) == ("trace-9", "anthropic", "claude-sonnet-4-5")
    assert second.first_token_at == datetime(2026, 3, 2, 10, 0, 11, 250000, tzinfo=UTC)
    assert second.logged_cost == Decimal("0.0123")
    assert paths(second) == ["tools[0]", "messages[0].content", "messages[1].content"]
    assert [parameter.name for parameter in second.parameters] == ["tool_choice"]
    assert [(parameter.name, parameter.value) for parameter in second.route] == [("host", '"api.anthropic.com"')]


def test_spend_logs_hold_a_prompt_only_where_it_was_stored() -> None:
    calls, ledger = read("litellm", SPEND)
    assert claims(SPEND) == ["litellm"]
    assert (ledger.rows, ledger.calls) == (2, 2)
    assert [call.evidence for call in calls] == [Evidence.USAGE_ONLY, Evidence.EXACT]
    assert [figures(call) for call in calls] == [(10, None, None, 20), (40, 2000, {"": 70}, 12)]
    assert (calls[0].first_token_at, len(calls[0].prompt)) == (None, 0)  # not streamed: the column repeats the end
    assert calls[1].first_token_at == datetime(2025, 1, 24, 9, 21, 47, tzinfo=UTC)


def test_redacted_messages_are_no_prompt() -> None:
    row = {"id": "1", "call_type": "completion", "response_cost": 1, "prompt_tokens": 5, "completion_tokens": 1}
    redacted = {**row, "messages": [{"role": "user", "content": "redacted-by-litellm"}]}
    call = read("litellm", made(redacted))[0][0]
    assert (call.evidence, figures(call), call.session) == (Evidence.USAGE_ONLY, (5, None, None, 1), "1")


def test_the_same_request_in_two_files_counts_once() -> None:
    assert len(read("litellm", SPEND, SPEND)[0]) == 2
