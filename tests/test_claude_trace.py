"""claude-trace: calls of the session, the client's other requests known, nothing of a secret kept."""

import json
from datetime import UTC, datetime
from pathlib import Path

from hitledger.logs import bodies, claude_trace
from log_reading import fixture, read, usage, written

LOG = "claude-trace/log-2026-05-04-08-00-00.jsonl"


def test_calls_of_the_session() -> None:
    found = read(claude_trace, fixture(LOG))
    assert [(call.model, usage(call)) for call in found.calls] == [
        ("claude-sonnet-4-5", (12, 0, 1310, 60)),
        ("claude-haiku-4-5", (40, 0, 0, 5)),
        ("claude-sonnet-4-5", (30, 1310, 0, 7)),
        ("claude-sonnet-4-5", None),
    ]
    assert {call.session for call in found.calls} == {"11111111-2222-3333-4444-555555555555"}
    assert found.calls[0].started_at == datetime(2026, 5, 4, 8, tzinfo=UTC)
    assert found.calls[0].ended_at == datetime(2026, 5, 4, 8, 0, 2, 500_000, tzinfo=UTC)
    assert found.calls[0].first_token_at is None
    assert [(call.agent, call.parent_agent) for call in found.calls] == [
        ("main", ""),
        ("side", "main"),
        ("main", ""),
        ("main", ""),
    ]
    assert found.calls[3].notes == ("usage_missing",)
    assert found.known == {"no model call": 1}


def test_the_billing_header_does_not_break_the_prefix() -> None:
    first, _, third, _ = read(claude_trace, fixture(LOG)).calls
    shared = [segment.digest for segment in first.prompt.segments()]
    assert [segment.digest for segment in third.prompt.segments()][: len(shared)] == shared


def test_no_token_is_kept() -> None:
    assert "not-a-real" not in repr(read(claude_trace, fixture(LOG)).calls)


def test_only_its_own_lines_are_claimed() -> None:
    assert claude_trace.sniff(fixture(LOG))
    assert not bodies.sniff(fixture(LOG))
    assert not claude_trace.sniff(fixture("bodies/anthropic.jsonl"))


def test_damage(tmp_path: Path) -> None:
    lines = (Path(__file__).parent.parent / "fixtures" / LOG).read_text().splitlines()
    cut = "\n".join([lines[0][:200], json.dumps({"request": 5, "logged_at": "x"}), lines[1], lines[2][:-40]])
    found = read(claude_trace, written(tmp_path, "log.jsonl", cut))
    assert [call.model for call in found.calls] == ["claude-haiku-4-5"]
    assert [row for row, _ in found.skips] == [1, 2, 4]
