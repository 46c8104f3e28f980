"""LHAR: lines with bodies, exports without, sub-agents."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from hitledger.logs import lhar
from hitledger.types import Evidence
from log_reading import FIXTURES, fixture, folder, read, usage, written


def test_lines_with_bodies() -> None:
    found = read(lhar, fixture("lhar/harbour.lhar"))
    assert [usage(call) for call in found.calls] == [(12, 0, 1310, 60), (118, 1310, 0, 9), (30, 0, 0, 4)]
    assert [call.evidence for call in found.calls] == [Evidence.EXACT, Evidence.EXACT, Evidence.USAGE_ONLY]
    assert [(call.agent, call.parent_agent) for call in found.calls] == [("main", ""), ("main", ""), ("s1", "main")]
    assert found.calls[0].logged_cost == Decimal("0.0059")
    assert found.calls[0].first_token_at == datetime(2026, 5, 4, 8, 0, 1, 812_000, tzinfo=UTC)
    assert found.calls[0].ended_at == datetime(2026, 5, 4, 8, 0, 3, 12_000, tzinfo=UTC)
    assert {call.session for call in found.calls} == {"6590f363"}
    assert found.known == {"session": 1}


def test_the_export_without_bodies_is_usage_only() -> None:
    found = read(lhar, fixture("lhar/harbour.lhar.json"))
    assert [usage(call) for call in found.calls] == [(12, 0, 1310, 60), (118, 1310, 0, 9), (30, 0, 0, 4)]
    assert {call.evidence for call in found.calls} == {Evidence.USAGE_ONLY}


def test_an_entry_in_both_counts_once() -> None:
    found = read(lhar, *folder("lhar"))
    assert len(found.calls) == 3
    assert found.calls[0].evidence is Evidence.EXACT
    assert found.known == {"session": 1, "same call": 3}


def test_damage(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (FIXTURES / "lhar/harbour.lhar").read_text().splitlines()]
    lines[1]["gen_ai"].pop("usage")
    lines[1]["raw"]["response_body"] = None
    lines[2]["newer"] = {"schema": 2}
    lines[2]["timings"] = None
    lines[3]["gen_ai"] = 7
    text = "\n".join([*map(json.dumps, lines), json.dumps(lines[2])[:300]])
    found = read(lhar, written(tmp_path, "odd.lhar", text))
    assert [usage(call) for call in found.calls] == [None, (118, 1310, 0, 9)]
    assert found.calls[0].notes == ("usage_missing",)
    assert found.calls[1].ended_at is None
    assert [row for row, _ in found.skips] == [4, 5]


def test_a_session_without_entries(tmp_path: Path) -> None:
    file = written(tmp_path, "empty.lhar.json", '{"lhar": {"version": "0.1.0", "sessions": [], "entries": []}}')
    assert lhar.sniff(file)
    assert read(lhar, file).ledgers[0].rows == 0
