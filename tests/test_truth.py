"""Real sessions with per-call truth, read by hand where it mattered: every collapse with its cause."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hitledger.audit import AuditOptions, audit
from hitledger.results import Audit

CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpus"
CLAUDE = ("claude-c76e5be5", "claude-3af9b1a7", "claude-554b9fa6")
SESSIONS = (*CLAUDE, "pi-large-session")
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the large logs are not beside the project")

CAUSES = {
    "ttl_expired": {"ttl.expired"},
    "compaction": {"messages.compacted"},
    "context_cleared": {"messages.tool_result_pruned", "unexplained"},
    "thinking_stripped_at_user_turn:full_miss_over_20_blocks": {
        "server.thinking_stripped",
        "breakpoint.beyond_lookback",
    },
    "thinking_stripped_at_user_turn:already_warmed_by_unlogged_call": {"server.thinking_stripped", "unexplained"},
    "thinking_stripped_at_user_turn": {"server.thinking_stripped"},
    # pi's system prompt held the time and is not in its log. Thinking was changed before four of these misses, yet by
    # the rule that leaves tools and system readable, or the older entry of the same setting, and nothing was read.
    "total_miss_at_user_turn": {"unexplained"},
    "unknown": {"unexplained"},
}


def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CORPUS / "truth" / f"{name}.json").read_text())
    return found


def run(name: str) -> Audit:
    return audit([str(CORPUS / truth(name)["file"])], AuditOptions(segments=False))


def allowed(label: str) -> set[str]:
    return next(causes for prefix, causes in CAUSES.items() if label.startswith(prefix))


@pytest.mark.parametrize("name", SESSIONS)
def test_totals_to_the_token(name: str) -> None:
    wanted, totals = truth(name), run(name).totals
    assert totals.calls == wanted["requests"]
    assert totals.uncached_input_tokens == wanted["input"]
    assert totals.cache_read_tokens == wanted["cache_read"]
    assert totals.cache_write_tokens == wanted["cache_creation"]
    assert totals.hit_rate == pytest.approx(wanted["hit_ratio"], abs=1e-6)


@pytest.mark.parametrize("name", SESSIONS)
def test_collapses_with_their_causes(name: str) -> None:
    wanted = {row["request"] - 1: row for row in truth(name)["collapses"]}
    found = {row.index: row for row in run(name).breaks}
    assert sorted(found) == sorted(wanted)
    for index, row in wanted.items():
        assert found[index].cause in allowed(row["label"]), (index, row["label"])
        assert found[index].lost_tokens == row["lost"]


@pytest.mark.parametrize(("name", "skipped"), list(zip(CLAUDE, (1, 35, 28), strict=True)))
def test_broken_rows_are_counted(name: str, skipped: int) -> None:
    (file,) = run(name).ingest.files
    assert file.skipped == skipped
    assert file.rows == file.calls + sum(file.known.values()) + file.skipped


def test_a_logged_cost_beside_ours() -> None:
    """Truth: 439 calls, $30.3302 by pi's own count."""
    totals = run("pi-large-session").totals
    assert totals.logged_costs is not None
    assert totals.cost == totals.logged_costs.logged
    assert [round(cost, 4) for cost in (totals.cost, totals.logged_costs.computed)] == [Decimal("30.3302")] * 2
    assert totals.logged_costs.not_taken == {}


def test_a_logged_cost_that_leaves_output_out_is_not_taken() -> None:
    """Roo under the anthropic protocol: 285 x 3 + 1,039,280 x 0.3 + 689,253 x 3.75 + 16,461 x 15 per million."""
    found = run("roo-bc93a6f7")
    totals = found.totals
    assert (totals.calls, totals.input_tokens, totals.output_tokens) == (30, 1_728_818, 16_461)
    assert totals.cost == Decimal("3.14425275")
    assert {call.cost_source for call in found.calls} == {"usage x price"}
    assert totals.logged_costs is not None
    assert round(totals.logged_costs.logged, 4) == Decimal("2.9000")
    assert totals.logged_costs.not_taken == {"output": 30}
