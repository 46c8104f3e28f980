"""OpenInference: Phoenix exports flat and nested, wrapped calls, the request body where it is recorded."""

from datetime import UTC, datetime
from decimal import Decimal

from hitledger.types import Evidence
from log_fixtures import claims, figures, paths, read
from log_reading import fixture

PHOENIX, NESTED = fixture("openinference/phoenix.jsonl"), fixture("openinference/nested.json")


def test_phoenix_export() -> None:
    calls, ledger = read("openinference", PHOENIX)
    assert claims(PHOENIX) == ["openinference"]
    assert (ledger.rows, ledger.calls) == (6, 3)
    assert ledger.known_rows == {"agent span": 1, "outer span": 1, "tool span": 1}
    assert [(call.id, call.session, call.agent, call.parent_agent) for call in calls] == [
        ("chatcmpl-1", "sess-4", "main", ""),
        ("s5", "sess-4", "s4", "main"),
        ("s6", "sess-4", "main", ""),
    ]
    assert [figures(call) for call in calls] == [(1300, 0, None, 10), (90, None, None, 3), (120, 1280, None, 5)]
    assert [call.evidence for call in calls] == [Evidence.EXACT, Evidence.RECONSTRUCTED, Evidence.EXACT]


def test_the_recorded_request_body_and_the_recorded_messages_are_the_same_prompt() -> None:
    whole, _, parts = read("openinference", PHOENIX)[0]
    assert paths(whole) == ["tools[0]", "messages[0].content", "messages[1].content"]
    assert [a.digest for a in parts.prompt.segments()[:3]] == [a.digest for a in whole.prompt.segments()]
    assert whole.first_token_at == datetime(2026, 3, 2, 10, 0, 1, 250000, tzinfo=UTC)
    assert whole.logged_cost == Decimal("0.0021")


def test_nested_attributes_of_the_rest_api() -> None:
    """`prompt` is the whole prompt: 2,500 = 100 + 2,000 read + 400 written."""
    calls, ledger = read("openinference", NESTED)
    assert claims(NESTED) == ["openinference"]
    assert (ledger.rows, figures(calls[0])) == (1, (100, 2000, {"": 400}, 6))
    assert (calls[0].provider, calls[0].session) == ("anthropic", "aa02")
