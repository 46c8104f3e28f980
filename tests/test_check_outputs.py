"""The forms of a check: SARIF against the published schema, JUnit in a parser, comment, annotations, terminal, command."""

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import JUnitXml
from junitparser.junitparser import Failure, Skipped
from rich.console import Console
from typer.testing import CliRunner

from hitledger.check import known
from hitledger.check.limits import Increase, Limits
from hitledger.check.result import CheckResult
from hitledger.check.run import CheckOptions, check
from hitledger.errors import HitledgerError
from hitledger_reports import annotations, check_markdown, check_terminal, junit, sarif
from hitledger_reports.cli import app

ROOT = Path(__file__).parent.parent
TRAFFIC = ROOT / "fixtures" / "check" / "traffic"
SCHEMA = json.loads((ROOT / "tests" / "schemas" / "sarif-schema-2.1.0.json").read_text())
EVIL = "</testsuite>]]>::error::x\x1b[31m<script>|`@team [a](http://b)\x00"
PROMPT = f"You keep the ledger.\nToday is 2026-05-04, {EVIL}\nRequest id: 7\n"


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "a system.md").write_text(PROMPT)
    return "prompts/a system.md"


@pytest.fixture
def failing(prompt: str) -> CheckResult:
    return check(CheckOptions(candidate=prompt, limits=Limits(no_volatile_prefix=True)))


@pytest.fixture(scope="module")
def costly() -> CheckResult:
    limits = Limits(max_cost_increase=Increase(Decimal(5), True))
    files = {"baseline": str(TRAFFIC / "system.md"), "candidate": str(TRAFFIC / "system-1500.md")}
    return check(CheckOptions(**files, logs=(str(TRAFFIC / "anthropic.jsonl"),), limits=limits))  # type: ignore[arg-type]


def valid(result: CheckResult) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(sarif.render(result))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    run: dict[str, Any] = log["runs"][0]
    return run


def test_sarif_is_valid_and_names_the_line(failing: CheckResult) -> None:
    run = valid(failing)
    places = [one["locations"][0]["physicalLocation"] for one in run["results"] if "locations" in one]
    assert [(one["artifactLocation"]["uri"], one["region"]["startLine"]) for one in places] == [
        ("prompts/a%20system.md", 2),
        ("prompts/a%20system.md", 3),
    ]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    assert [one["level"] for one in run["results"]] == ["warning", "warning", "error"]


def test_sarif_of_a_change_that_costs_too_much(costly: CheckResult) -> None:
    assert [one["ruleId"] for one in valid(costly)["results"]] == ["max-cost-increase"]


def test_known_findings_are_suppressed(failing: CheckResult, prompt: str, tmp_path: Path) -> None:
    file = str(tmp_path / "known.json")
    known.save(failing.all_findings, file)
    again = check(CheckOptions(candidate=prompt, limits=Limits(no_volatile_prefix=True), known=file))
    assert [one["suppressions"][0]["kind"] for one in valid(again)["results"]] == ["external", "external"]
    assert annotations.render(again) == ""
    (suite,) = JUnitXml.fromstring(junit.render(again).encode())
    assert (suite.tests, suite.failures, suite.skipped) == (5, 0, 2)
    assert [[type(one) for one in case.result] for case in suite] == [[], [], [], [Skipped], [Skipped]]


def test_the_schema_refuses_what_is_no_sarif(failing: CheckResult) -> None:
    broken = json.loads(sarif.render(failing))
    broken["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate(broken)


def test_junit_opens_in_a_parser(failing: CheckResult) -> None:
    (suite,) = JUnitXml.fromstring(junit.render(failing).encode())
    assert (suite.name, suite.tests, suite.failures) == ("hitledger.check", 5, 1)
    cases = {case.name: case for case in suite}
    assert list(cases)[:3] == ["stable-prefix", "accepted-marks", "no-volatile-prefix"]
    (failure,) = cases["no-volatile-prefix"].result
    assert isinstance(failure, Failure)
    assert failure.message == "no-volatile-prefix: 2, limit 0 findings"


def test_the_comment_is_short_and_says_the_money_first(costly: CheckResult, failing: CheckResult) -> None:
    lines = check_markdown.render(costly).splitlines()
    assert lines[0] == r"### ❌ \+≈\$0.0016 a day (\+9.9 %), once ≈\$0.0060 at the deploy"
    assert lines[2] == "- ❌ max-cost-increase: 9.861933, limit 5 %"
    assert len(lines) < 30
    comment = check_markdown.render(failing)
    assert "\x1b" not in comment
    assert "`prompts/a system.md:2 system`" in comment


def test_annotations_hold_no_command_of_the_prompt(failing: CheckResult) -> None:
    lines = annotations.render(failing).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("::warning file=prompts/a system.md,line=2,title=system.volatile_time::looks like")
    assert lines[-1] == "::error title=hitledger no-volatile-prefix::no-volatile-prefix: 2, limit 0 findings"


def test_no_output_lets_a_prompt_take_effect(failing: CheckResult) -> None:
    stream = io.StringIO()
    check_terminal.print_check(failing, Console(file=stream, width=80, force_terminal=False))
    shown = stream.getvalue()
    assert shown.splitlines()[0] == "FAIL  2 warnings in the prompt."
    for text in (
        shown,
        check_markdown.render(failing),
        junit.render(failing),
        sarif.render(failing),
        annotations.render(failing),
    ):
        assert "\x1b" not in text
        assert "\x00" not in text


def invoke(*arguments: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, ["check", *arguments])
    if isinstance(outcome.exception, HitledgerError):
        return outcome.exception.exit_code, str(outcome.exception)
    return outcome.exit_code, outcome.output


@pytest.mark.parametrize("form", ["--json", "--sarif", "--junit", "--markdown"])
def test_a_form_on_standard_output_stands_there_alone(prompt: str, form: str, tmp_path: Path) -> None:
    assert invoke("--candidate", prompt, form, str(tmp_path / "file"))[0] == 0
    assert invoke("--candidate", prompt, form, "-") == (0, (tmp_path / "file").read_text(encoding="utf-8"))


def test_exit_codes(prompt: str, tmp_path: Path) -> None:
    """0 passed, 1 failed, 2 usage, 3 nothing to read, 4 over a limit."""
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    system = str(TRAFFIC / "system.md")
    log = str(TRAFFIC / "anthropic.jsonl")
    assert invoke("--candidate", prompt)[0] == 0
    assert invoke("--candidate", prompt, "--json", str(tmp_path / "no" / "file"))[0] == 1
    assert invoke()[0] == 2
    assert invoke("--candidate", str(bad))[0] == 2
    assert invoke("--candidate", prompt, "--max-one-off-cost", "1")[0] == 2
    assert invoke("--candidate", "nowhere.md")[0] == 3
    assert invoke("--baseline", system, "--candidate", system, "--logs", str(empty))[0] == 3
    assert invoke("--baseline", system, "--candidate", system, "--logs", log)[0] == 0
    assert invoke("--candidate", prompt, "--no-volatile-prefix")[0] == 4


def test_known_findings_can_be_written_where_the_settings_name_them_already(prompt: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.hitledger.check]\nknown = "known.json"\nno-volatile-prefix = true\n'
    )
    assert invoke(prompt)[0] == 2  # the file is not there
    assert invoke(prompt, "--write-known", "known.json")[0] == 4
    assert invoke(prompt)[0] == 0


def test_every_file_that_was_asked_for(tmp_path: Path) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("json", "markdown", "junit", "sarif")}
    asked = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    both = ("--baseline", str(TRAFFIC / "system.md"), "--candidate", str(TRAFFIC / "system-1500.md"))
    code, output = invoke(*both, "--logs", str(TRAFFIC / "anthropic.jsonl"), "--quiet", *asked)
    assert (code, output) == (0, "")
    assert json.loads(files["json"].read_text())["verdict"] == "pass"
    assert all(path.stat().st_size > 100 for path in files.values())
