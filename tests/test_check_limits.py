"""Limits from flags and pyproject.toml, rules of the verdict, known findings, other ways to look at traffic."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hitledger import audit as auditing
from hitledger import measurement, results
from hitledger.check import known
from hitledger.check.bootstrap import SessionSums, spread_of
from hitledger.check.limits import Increase, Limits, Settings, settings_in
from hitledger.check.result import CheckResult, to_json
from hitledger.check.run import CheckOptions, check
from hitledger.check.traffic import TrafficOptions
from hitledger.check.transition import parse_shares
from hitledger.errors import NothingToReadError, UsageError
from hitledger.types import Certainty
from hitledger_reports import check_figures

TRAFFIC = Path(__file__).parent.parent / "fixtures" / "check" / "traffic"
LOG = str(TRAFFIC / "anthropic.jsonl")


def run(candidate: str = "system-1500.md", **options: Any) -> CheckResult:
    given = {"baseline": str(TRAFFIC / "system.md"), "candidate": str(TRAFFIC / candidate), "logs": (LOG,)} | options
    return check(CheckOptions(**given))


def test_each_rule_with_its_value_and_its_limit() -> None:
    """Cost 0.0159705 -> 0.0175455 (9.8619 %), hit rate 81.58 -> 81.77 %, once 0.006038, 300 tokens more a call."""
    limits = Limits(Decimal(0), Increase(Decimal(5), True), Decimal("0.006"), Decimal(300), True, True)
    found = run(limits=limits)
    assert [(rule.name, str(rule.value), str(rule.limit), rule.passed) for rule in found.rules] == [
        ("stable-prefix", "0", "0", True),
        ("accepted-marks", "0", "0", True),
        ("no-volatile-prefix", "0", "0", True),
        ("no-bad-marks", "0", "0", True),
        ("all-changes-measured", "0", "0", True),
        ("max-hit-rate-drop", "-0.185753", "0", True),
        ("max-cost-increase", "9.861933", "5", False),
        ("max-one-off-cost", "0.006038", "0.006", False),
        ("max-added-tokens", "300.000000", "300", True),
    ]
    assert found.verdict == "fail"


def test_cost_a_day_in_money_follows_the_real_traffic() -> None:
    """0.001575 more for 6 calls; 6,000 calls a day are a thousand times that, and so is what the deploy costs once."""
    limits = Limits(max_cost_increase=Increase(Decimal("1.57"), False))
    found = run(limits=limits, traffic=TrafficOptions(calls_per_day=6_000))
    assert found.rules[-1].value == Decimal("1.575000")
    assert not found.passed
    assert found.one_off_cost == Decimal("6.037500")


def test_limits_need_traffic() -> None:
    with pytest.raises(UsageError, match="need --baseline and --logs"):
        run(limits=Limits(max_one_off_cost=Decimal(1)), logs=())


def test_a_price_that_is_not_known_does_not_pass(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(Path(LOG).read_text().replace("claude-sonnet-4-5", "claude-unheard-of-9"))
    found = run(logs=(str(log),), limits=Limits(max_cost_increase=Increase(Decimal(100), True)))
    assert (found.rules[-1].value, found.rules[-1].passed, found.verdict) == (None, False, "fail")
    assert found.one_off_cost is None
    assert found.traffic is not None
    assert "no price for claude-unheard-of-9" in found.traffic.unpriced[0]


def test_the_baseline_stands_in_no_call() -> None:
    with pytest.raises(NothingToReadError, match="stands in the prompt of none of 6 recorded calls"):
        run(baseline=str(TRAFFIC / "notes.md"), candidate=str(TRAFFIC / "notes-160.md"))


def folders(path: Path, *, added: bool) -> dict[str, str]:
    """The recorded tools, the same on both sides, and a prompt that changes and was never recorded."""
    for name, text in (("old", "Another prompt."), ("new", "Another prompt, ten times as long.")):
        (path / name).mkdir()
        (path / name / "tools.json").write_text((TRAFFIC / "tools-anthropic.json").read_text())
        (path / name / "other.md").write_text(text)
    if added:
        (path / "new" / "third.md").write_text("A third part.")
    return {"baseline": str(path / "old"), "candidate": str(path / "new")}


def test_a_change_that_no_recorded_call_shows_does_not_pass_a_limit(tmp_path: Path) -> None:
    """The unchanged tools stand in all calls and nothing costs more, but the changed prompt stands in none."""
    sides = folders(tmp_path, added=True)
    found = run(**sides, limits=Limits(max_cost_increase=Increase(Decimal(0), True)))
    assert [(rule.name, rule.value, rule.passed) for rule in found.rules[2:]] == [
        ("all-changes-measured", Decimal(1), False),
        ("max-cost-increase", Decimal(0), True),
    ]
    assert found.traffic is not None
    assert [Path(file).name for file in found.traffic.unmeasured] == ["other.md"]
    assert found.traffic.notes == ("Not measured: third.md is on one side only",)
    assert check_figures.headline(found) == "≈$0 a day, once ≈$0 at the deploy; 1 changed file not measured"
    assert check_figures.remarks(found)[0].startswith("Not measured: ")


def test_a_part_that_did_not_change_need_not_be_recorded(tmp_path: Path) -> None:
    sides = folders(tmp_path, added=False)
    (tmp_path / "new" / "other.md").write_text("Another prompt.")
    found = run(**sides, limits=Limits(max_cost_increase=Increase(Decimal(0), True)))
    assert found.passed
    assert found.traffic is not None
    assert (found.traffic.unmeasured, found.traffic.notes) == ((), ())


def test_new_files_alone_are_not_held_against_limits_of_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "system.md").write_text("A new prompt.")
    found = check(CheckOptions(files=("system.md",), logs=(LOG,), limits=Limits(max_one_off_cost=Decimal(0))))
    assert [rule.name for rule in found.rules] == ["stable-prefix", "accepted-marks"]


def test_a_change_of_nothing_is_no_negative_zero() -> None:
    found = run("system.md")
    assert check_figures.headline(found) == "≈$0 a day, once ≈$0 at the deploy"
    assert [row.change for row in check_figures.rows(found)] == ["≈$0", "≈$0", "≈$0", "+0.0 points", "+0"]


def test_sessions_without_the_baseline_stay_as_they_are(tmp_path: Path) -> None:
    """Another session under another prompt: no cost changes in it, and it is counted."""
    other = [json.loads(row) for row in Path(LOG).read_text().splitlines()]
    for row in other:
        row["session_id"] += "-other"
        row["request"]["system"][0]["text"] = "Another prompt. " * 400
        row["response"]["id"] += "-other"
    log = tmp_path / "log.jsonl"
    log.write_text(Path(LOG).read_text() + "".join(json.dumps(row) + "\n" for row in other))
    found = run(logs=(str(log),))
    assert found.traffic is not None
    assert (found.traffic.calls, found.traffic.calls_substituted) == (12, 6)
    assert (found.traffic.sessions, found.traffic.sessions_substituted) == (4, 2)
    for session in (one for one in found.sessions if one.id.endswith("-other")):
        assert (session.calls_substituted, session.path, session.rewritten_tokens) == (0, "", 0)
        assert session.cost.before == session.cost.after


def test_deploy_at_a_given_time() -> None:
    """In front of the last call: Bo 3 finds the tools, 1,200 instead of 2,830: 1,630 x 3.45 = 5,623.5."""
    at = datetime(2026, 5, 4, 8, 2, 10, tzinfo=UTC)
    found = run(traffic=TrafficOptions(deploy_at=at))
    assert found.one_off_cost == Decimal("0.005624")
    assert found.traffic is not None
    assert (found.traffic.deploy_at, found.traffic.rewritten_tokens) == ("2026-05-04T08:02:30Z", 1_630)


def test_a_rollout_to_all_at_once_is_the_deploy_and_one_to_none_is_nothing() -> None:
    whole = run(traffic=TrafficOptions(rollout=parse_shares("0:100%"))).traffic
    none = run(traffic=TrafficOptions(rollout=parse_shares("0:0%"))).traffic
    assert whole is not None
    assert whole.rollout is not None
    assert (whole.rollout.cost, whole.rollout.rewritten_tokens, whole.rollout.calls_on_candidate) == (Decimal("0.006038"), 1_750, 2)  # fmt: skip
    assert none is not None
    assert none.rollout is not None
    assert (none.rollout.cost, none.rollout.calls_on_candidate) == (Decimal(0), 0)


@pytest.mark.parametrize("text", ["", "x", "0:50%,10:20%", "10:20%,0:50%", "0:120%", "0:-1%"])
def test_rollouts_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="--rollout"):
        parse_shares(text)


def test_shares_of_a_rollout() -> None:
    assert parse_shares("0:10%,30:50,60:100%") == ((0.0, 0.1), (30.0, 0.5), (60.0, 1.0))


def test_a_saved_audit_gives_estimates_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "audit.json"
    file.write_bytes(results.to_json(auditing.audit([LOG])))
    found = run(logs=(str(file),))
    direct = run()
    assert found.hit_rate == direct.hit_rate
    assert found.one_off_cost == direct.one_off_cost
    assert found.traffic is not None
    assert found.traffic.certainty is Certainty.ESTIMATED
    assert "estimates by tokens only" in found.traffic.notes[0]


def test_ttft_by_the_fitted_model_of_a_replay() -> None:
    """10 ms + 1 ms a computed token: before (15,150 - 12,360) / 6 = 465, after (16,950 - 13,860) / 6 = 515."""
    fitted = measurement.FittedTtft(10.0, 1.0, 0.0, 9, 0.1)
    replay = measurement.Measurement(1, "paged", "tiny", "", "cpu", "", "float32", 16, 1, None, 1.0, (), (), fitted)
    traffic = run(traffic=TrafficOptions(replay=replay)).traffic
    assert traffic is not None
    assert traffic.ttft is not None
    assert (traffic.ttft.before_ms, traffic.ttft.after_ms) == (475.0, 525.0)


def test_intervals_hold_the_truth_and_are_the_same_at_every_run() -> None:
    """Sessions that all change alike have an interval of no width; sessions that differ have one around the mean."""
    alike = [SessionSums(100, 110, 50, 60, 1.0, 1.1)] * 5
    spread = spread_of(alike)
    assert spread is not None
    assert spread.cost_change is not None
    assert (spread.cost_change.low, spread.cost_change.high) == pytest.approx((0.1, 0.1))
    mixed = [*alike, SessionSums(100, 110, 50, 20, 1.0, 1.9)]
    wide = spread_of(mixed)
    assert wide is not None
    assert wide.cost_change is not None
    assert wide.cost_change.low < (1.1 * 5 + 1.9) / 6 - 1 < wide.cost_change.high
    assert wide == spread_of(mixed)
    assert spread_of(alike[:1]) is None


def test_same_input_same_bytes() -> None:
    assert to_json(run()) == to_json(run())
    written = json.loads(to_json(run()))
    assert written["one_off_cost"] == "0.006038"
    assert written["cost_per_day"] == {"after": "0.017546", "before": "0.015970"}
    assert {"verdict", "rules", "hit_rate", "one_off_cost", "cost_per_day", "cost_per_1000_calls", "sessions", "volatile"} <= written.keys()  # fmt: skip


def test_settings_of_pyproject_and_flags_over_them(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.hitledger.check]\nmax-cost-increase = "5%"\nmax-hit-rate-drop = 2\nno-volatile-prefix = true\nlogs = ["x"]\n'
    )
    found = settings_in(tmp_path)
    assert found.limits() == Limits(Decimal(2), Increase(Decimal(5), True), no_volatile_prefix=True)
    over = Settings(max_hit_rate_drop=0, logs=("y",)).over(found)
    assert over.limits() == Limits(Decimal(0), Increase(Decimal(5), True), no_volatile_prefix=True)
    assert over.logs == ("y",)
    assert settings_in(tmp_path / "nowhere") == Settings()


@pytest.mark.parametrize(
    "table",
    [
        *("max-cost-rise = 1", 'max-cost-increase = "5"', "max-hit-rate-drop = -1", "logs = 3", "= 1"),
        *("calls-per-day = 0", "calls-per-day = -5", "render-timeout = nan", "render-timeout = -1"),
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, table: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.hitledger.check]\n{table}\n")
    with pytest.raises(UsageError):
        settings_in(tmp_path).limits()


def test_known_findings_do_not_fail_again(tmp_path: Path) -> None:
    prompt = tmp_path / "system.md"
    prompt.write_text("You keep the ledger.\nToday is 2026-05-04.\n")
    strict = Limits(no_volatile_prefix=True)
    first = check(CheckOptions(candidate=str(prompt), limits=strict))
    assert not first.passed
    file = tmp_path / "known.json"
    known.save(first.all_findings, str(file))
    again = check(CheckOptions(candidate=str(prompt), limits=strict, known=str(file)))
    assert again.passed
    assert [one.known for one in again.volatile] == [True]
    prompt.write_text("You keep the ledger.\nToday is 2026-05-05.\nRequest id: 7\n")
    assert not check(CheckOptions(candidate=str(prompt), limits=strict, known=str(file))).passed


def test_what_the_baseline_has_as_well_does_not_fail(tmp_path: Path) -> None:
    for name in ("old.md", "new.md"):
        (tmp_path / name).write_text(f"You keep the ledger ({name}).\nToday is 2026-05-04.\n")
    options = {"baseline": str(tmp_path / "old.md"), "candidate": str(tmp_path / "new.md")}
    assert check(CheckOptions(**options, limits=Limits(no_volatile_prefix=True))).passed  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content", ["", "{}", '{"schema_version": 9, "findings": []}', '{"schema_version": 1, "x": 1}']
)
def test_files_of_known_findings_that_are_none(tmp_path: Path, content: str) -> None:
    file = tmp_path / "known.json"
    file.write_text(content)
    with pytest.raises(UsageError):
        known.load(str(file))
    with pytest.raises(UsageError):
        known.load(str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    "text", ["x", "0:nan%", "0:101%", "0:10%,0:5%", "30:100%,0:10%", "inf:10%", "-5:100%", "nan:5%"]
)
def test_shares_of_a_rollout_that_are_wrong(text: str) -> None:
    with pytest.raises(UsageError, match="--rollout"):
        parse_shares(text)
