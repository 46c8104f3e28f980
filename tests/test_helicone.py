"""Helicone: bodies as objects and as text, rows without bodies, answers of its own cache."""

from datetime import UTC, datetime
from decimal import Decimal

from hitledger.types import Evidence
from log_fixtures import claims, figures, made, paths, read
from log_reading import fixture

REQUESTS = fixture("helicone/requests.jsonl")


def test_requests() -> None:
    calls, ledger = read("helicone", REQUESTS)
    assert claims(REQUESTS) == ["helicone"]
    assert (ledger.rows, ledger.known_rows) == (5, {"answered by the gateway's own cache": 1})
    assert [figures(call) for call in calls] == [(30, 0, {"": 1900}, 15), (42, 1900, {}, 11), (42, 1900, {}, 7), None]
    assert [call.evidence for call in calls] == [Evidence.EXACT, Evidence.EXACT, Evidence.USAGE_ONLY, Evidence.EXACT]
    assert [call.status for call in calls] == [200, 200, 200, 429]
    assert {call.session for call in calls} == {"session-3"}
    first = calls[0]
    assert (first.id, first.provider, first.api) == ("msg_1", "anthropic", "messages")
    assert first.started_at == datetime(2026, 3, 2, 10, 1, tzinfo=UTC)
    assert first.first_token_at == datetime(2026, 3, 2, 10, 1, 0, 900000, tzinfo=UTC)
    assert first.ended_at == datetime(2026, 3, 2, 10, 1, 4, tzinfo=UTC)
    assert first.logged_cost == Decimal("0.0075")
    assert [segment.mark for segment in first.prompt.segments()] == ["5m", None]
    assert paths(calls[1])[:2] == paths(first)


def test_without_a_body_the_convention_is_the_providers() -> None:
    row = {"request_id": "1", "request_created_at": "2026-03-02", "provider": "OPENAI", "model": "gpt-5"}
    tokens = {
        "prompt_tokens": 2000,
        "completion_tokens": 3,
        "prompt_cache_read_tokens": 1920,
        "prompt_cache_write_tokens": 0,
    }
    call = read("helicone", made({**row, **tokens}))[0][0]
    assert figures(call) == (80, 1920, {}, 3)
