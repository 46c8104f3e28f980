"""Audits joined, cut to a span of time, compared; and the `report` command."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from hitledger.errors import HitledgerError, UsageError
from hitledger.results import to_json
from hitledger.types import Certainty
from hitledger_reports.cli import app
from hitledger_reports.combine import between, instant, join, until
from hitledger_reports.compare import Verdict, compare
from report_audits import audit_of, broken, call, shop


def other(calls: int = 3) -> list:
    return [call(n, 900, 100, id=f"d{n}", session="s-cccc", file="logs/b.jsonl", minute=n) for n in range(calls)]


def test_joined_audits_count_every_call_once() -> None:
    first, second = shop(), audit_of(other())
    both = join([first, second])
    assert both.totals.calls == 13
    assert both.totals.input_tokens == first.totals.input_tokens + 3 * 1_004
    assert [one.id for one in both.sessions] == ["s-aaaa", "s-bbbb", "s-cccc"]
    assert [one.index for one in both.calls] == list(range(13))
    assert both.rules[0].calls == both.prices[0].calls == 13
    assert len(both.ingest.files) == 2
    assert join([first]) == first


def test_the_same_audit_twice_is_the_same_audit_once() -> None:
    first = shop()
    both = join([first, first])
    assert both.calls == first.calls
    assert both.breaks == first.breaks
    assert both.findings == first.findings
    assert both.totals == first.totals


def test_breaks_of_joined_audits_stay_worst_first_and_point_at_their_calls() -> None:
    calls = other()
    second = audit_of(calls, [broken(calls[1], "tools.reordered", 12_000), broken(calls[2], "tools.reordered", 90_000)])
    both = join([shop(), second])
    assert [found.rebilled_tokens for found in both.breaks] == [90_000, 15_700, 12_000, 11_500]
    assert [both.calls[found.index].id for found in both.breaks] == [found.call for found in both.breaks]


def test_small_losses_of_joined_audits_add_up() -> None:
    one = shop()
    some = replace(one, totals=replace(one.totals, small_breaks=2, small_lost_tokens=700))
    both = join([some, replace(audit_of(other()), totals=replace(some.totals, small_lost_tokens=50))])
    assert (both.totals.small_breaks, both.totals.small_lost_tokens) == (4, 750)


def test_a_span_of_time_keeps_whole_days() -> None:
    audit = shop()
    second_day = between(audit, instant("2026-03-03", "--since"), None)
    assert [one.id for one in second_day.calls] == ["c7", "c8", "c9"]
    assert (second_day.breaks, second_day.totals.break_cost) == ((), None)
    assert [found.call for found in second_day.findings] == ["c9"]
    first_day = between(audit, None, until("2026-03-02"))
    assert len(first_day.calls) == 7
    assert first_day.totals.rebilled_tokens == 27_200
    assert between(audit, None, None) is audit


def test_undated_calls_are_in_no_span() -> None:
    audit = audit_of([call(0, 0, 100, started_at=None), call(1, 0, 100)])
    assert [one.id for one in between(audit, instant("2000-01-01", "--since"), None).calls] == ["c1"]


def test_instants() -> None:
    assert instant("2026-01-31", "--since") == datetime(2026, 1, 31, tzinfo=UTC)
    assert instant("2026-01-31T12:00:00+02:00", "--since") == datetime(2026, 1, 31, 10, tzinfo=UTC)
    assert until("2026-01-31") == datetime(2026, 2, 1, tzinfo=UTC)
    assert until("2026-01-31T06:30:00Z") == datetime(2026, 1, 31, 6, 30, tzinfo=UTC)
    with pytest.raises(UsageError, match="--until soon"):
        until("soon")


def test_comparison_judges_shares_not_sums() -> None:
    old = shop()
    calm = audit_of([call(n, 20_000, 200, minute=n) for n in range(50)])
    found = compare(old, calm)
    verdicts = {change.label: change.verdict for change in found.whole}
    assert verdicts["Calls"] is Verdict.NONE
    assert verdicts["Hit rate"] is Verdict.BETTER
    assert verdicts["Share of the bill lost to breaks"] is Verdict.BETTER
    assert [(change.label, change.verdict) for change in found.causes] == [
        ("ttl.expired", Verdict.BETTER), ("system.volatile_time", Verdict.BETTER),
    ]  # fmt: skip
    back = compare(calm, old)
    assert {change.verdict for change in back.causes} == {Verdict.WORSE}
    assert back.whole[3].change == "−57.5 %"  # hit rate 99.0 % to 42.1 %


def test_an_audit_against_itself_is_neither_better_nor_worse() -> None:
    found = compare(shop(), shop())
    assert {change.verdict for change in (*found.whole, *found.causes)} == {Verdict.SAME, Verdict.NONE}


def test_figures_compared_keep_their_sign_and_are_of_the_calls_that_have_them() -> None:
    sure = call(0, 0, 5_000)  # 5,004 tokens for 5,000 x 3.75 + 4 x 3 + 500 x 15 USD a million
    guess = replace(call(1, 0, 5_000), certainty={"cost": Certainty.ESTIMATED})
    unpriced = replace(call(2, 0, 50_000), cost=None)
    without_usage = replace(call(3, 0, 5_000), input_tokens=None, cost=Decimal(7))
    lost = replace(broken(guess, "model.changed", 1_000), certainty=Certainty.ESTIMATED)
    found = compare(audit_of([sure, unpriced, without_usage]), audit_of([guess], [lost]))
    rows = {row.label: (row.old, row.new) for row in found.whole}
    assert rows["Paid"] == ("$7.03", "~$0.0263")
    assert rows["Paid per million input tokens"] == ("$5.25", "~$5.25")
    assert rows["Share of the bill lost to breaks"] == ("0 %", "~13.1 %")
    assert rows["Rebilled tokens per 1,000 of input"] == ("0.0", "~199.8")
    assert (found.causes[0].old, found.causes[0].new) == ("none", "1 break, ~$0.0034")


@pytest.fixture
def saved(tmp_path: Path) -> tuple[str, str]:
    paths = tmp_path / "old.json", tmp_path / "new.json"
    paths[0].write_bytes(to_json(shop()))
    paths[1].write_bytes(to_json(audit_of(other())))
    return str(paths[0]), str(paths[1])


def test_report_writes_what_was_asked_for_and_nothing_else(saved: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    arguments = ["report", *saved, "--quiet", "--html", f"{out}/r.html", "--markdown", f"{out}/r.md", "--by", "day"]
    result = CliRunner().invoke(app, [*arguments, "--csv", f"{out}/csv", "--parquet", f"{out}/parquet"])
    assert (result.exit_code, result.output) == (0, "")
    assert {path.name for path in out.iterdir()} == {"r.html", "r.md", "csv", "parquet"}
    assert "13 calls, 3 sessions" in (out / "r.html").read_text(encoding="utf-8")
    assert "### By day" in (out / "r.md").read_text(encoding="utf-8")


def test_report_prints_and_cuts(saved: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["report", saved[0], "--since", "2026-03-03"])
    assert result.exit_code == 0
    assert result.output.startswith("3 calls, 1 session")


def test_report_compares(saved: tuple[str, str], tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", "--compare", *saved, "--markdown", str(tmp_path / "c.md")])
    assert result.exit_code == 0
    assert "figures got better" in result.output
    assert "| Hit rate | 42.1 % | 89.6 % | +113.0 % | better |" in (tmp_path / "c.md").read_text(encoding="utf-8")


def test_a_comparison_on_standard_output_stands_there_alone(saved: tuple[str, str], tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["report", "--compare", *saved, "--markdown", str(tmp_path / "c.md")]).exit_code == 0
    result = CliRunner().invoke(app, ["report", "--compare", *saved, "--markdown", "-"])
    assert result.output == (tmp_path / "c.md").read_text(encoding="utf-8")


def test_report_says_what_is_wrong(saved: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"schema_version": 1}')
    for arguments, words in (
        (["report", "--compare", saved[0]], "takes two audits"),
        (["report", "--compare", *saved, "--csv", "x"], "takes no --measured, --csv or --parquet"),
        (["report", "--compare", *saved, "--measured", "x"], "takes no --measured, --csv or --parquet"),
        (["report", saved[0], "--since", "soon"], "--since soon"),
        (["report", str(tmp_path / "none.json")], "none.json: cannot be read"),
        (["report", str(tmp_path / "other.json")], "other.json: not an audit"),
    ):
        result = CliRunner().invoke(app, arguments)
        assert isinstance(result.exception, HitledgerError)
        assert words in str(result.exception)
