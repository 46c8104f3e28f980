"""Every scenario gives exactly the verdicts that were written down for it, through the whole audit."""

import json
from pathlib import Path
from typing import Any

import pytest

from hitledger.audit import AuditOptions, audit
from hitledger.results import Audit

FOLDER = Path(__file__).parent.parent / "fixtures" / "scenarios"
FILES = sorted(FOLDER.glob("*.json"))
FIGURES = {"readable_before": "readable_before", "lost": "lost_tokens", "rebilled": "rebilled_tokens"}


def expected(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["expected"]
    return found


def run(path: Path) -> Audit:
    return audit([str(path)], AuditOptions(strict=False))


def test_all_scenarios_are_here() -> None:
    assert len(FILES) == 26


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_breaks(path: Path) -> None:
    wanted = {row["request_index"]: row for row in expected(path)["breaks"]}
    found = {row.index: row for row in run(path).breaks}
    assert sorted(found) == sorted(wanted)
    for index, row in wanted.items():
        got = found[index]
        assert got.cause == row["cause"]
        assert got.path == row["first_changed"] or got.path.startswith(
            (f"{row['first_changed']}.", f"{row['first_changed']}[")
        )
        for key, name in FIGURES.items():
            if key in row:
                assert getattr(got, name) == row[key], (index, name)
        if "char_offset" in row:
            assert got.char_offset == row["char_offset"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_healthy_calls_are_not_flagged(path: Path) -> None:
    result = run(path)
    healthy = set(expected(path).get("ok_requests", ()))
    assert not healthy & {row.index for row in result.breaks}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_findings(path: Path) -> None:
    wanted = [(row["request_index"], row["cause"]) for row in expected(path).get("findings", ())]
    assert [(row.index, row.cause) for row in run(path).findings] == wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reported_reads_are_kept(path: Path) -> None:
    usages = [row.get("usage") for row in json.loads(path.read_text())["requests"]]
    for call, usage in zip(run(path).calls, usages, strict=True):
        if usage is None:
            assert call.cache_read_tokens is None
            assert call.cost is None
        else:
            details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
            assert call.cache_read_tokens == usage.get("cache_read_input_tokens", details.get("cached_tokens"))


def test_a_refused_call_keeps_its_index() -> None:
    result = run(FOLDER / "32-five-breakpoints-400.json")
    assert [(call.index, call.status) for call in result.calls] == [(0, 200), (1, 400), (2, 200)]
    assert result.calls[1].input_tokens is None


def test_money_of_a_break_by_hand() -> None:
    """01: Sonnet 4.5, 5m writes at $3.75, reads at $0.30 per million: 1,140 x 3.45 and 1,204 x 3.45."""
    result = run(FOLDER / "01-system-clock-seconds.json")
    costs = {row.index: str(row.cost) for row in result.breaks}
    assert {index: f"{float(cost):.8f}" for index, cost in costs.items()} == {1: "0.00393300", 2: "0.00415380"}


def test_token_offset_points_into_the_changed_block() -> None:
    result = run(FOLDER / "02-date-rollover.json")
    (found,) = result.breaks
    call = result.calls[found.index]
    before_system = sum(s.tokens or 0 for s in call.segments if s.path.startswith("tools"))
    system = next(s.tokens or 0 for s in call.segments if s.path == "system[0].text")
    assert found.token_offset is not None
    assert before_system < found.token_offset < before_system + system


def test_segments_sum_to_what_is_reported_up_to_the_last_mark() -> None:
    """The mark stands on the last block, so what is billed behind it (3 tokens) belongs to no segment."""
    for call in run(FOLDER / "07-moving-breakpoint-negative.json").calls:
        assert call.segments[-1].marked
        assert sum(segment.tokens or 0 for segment in call.segments) == (call.input_tokens or 0) - 3
