"""docs/simulate.md lists the options, policies, definitions and JSON fields that the two commands have."""

import json
import re
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hitledger_replay.simulation.definitions import Definition
from hitledger_replay.simulation.plan import Policy
from hitledger_reports.cli import app

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
SIMULATE, SIZE = PAGE.split("## hitledger size CONFIG")
TRACES = str(ROOT / "fixtures" / "traces")


def first_column(page: str) -> set[str]:
    """Every word in backquotes in the first column of a table."""
    cells = re.findall(r"^\| (`.+?`) \| ", page, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def quoted(page: str) -> set[str]:
    """Every word in backquotes, examples left out."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose))))


def keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def written(tmp_path: Path, *arguments: str) -> dict[str, object]:
    out = tmp_path / "out.json"
    assert CliRunner().invoke(app, [*arguments, "--json", str(out)], catch_exceptions=False).exit_code == 0
    return json.loads(out.read_text())


@pytest.mark.parametrize(("command", "page"), [("simulate", SIMULATE), ("size", SIZE)])
def test_every_option_is_documented(command: str, page: str) -> None:
    params = get_command(app).commands[command].params  # type: ignore[attr-defined]
    options = {option for param in params for option in param.opts if option.startswith("--")}
    assert {name for name in first_column(page) if name.startswith("--")} == options


def test_every_policy_and_definition_is_documented() -> None:
    assert set(Policy) | set(Definition) <= first_column(SIMULATE)


def test_every_field_of_a_simulation_is_documented(tmp_path: Path) -> None:
    report = written(tmp_path, "simulate", TRACES, "--all-definitions")
    assert keys(report) <= quoted(SIMULATE)
    listed = first_column(SIMULATE)
    assert set(report) | set(report["results"][-1]) | {"hits", "total"} <= listed  # type: ignore[index]


def test_every_field_of_a_size_is_documented(tmp_path: Path) -> None:
    arguments = ("--memory", "80GB", "--samples", "2", "--claim", "1GB")
    report = written(tmp_path, "size", "llama-3.1-8b", *arguments)
    assert set(report) <= first_column(SIZE)
    for key in ("physical", "capacity", "checklist", "claim"):
        assert set(report[key]) <= quoted(SIZE), key  # type: ignore[call-overload]


@pytest.mark.parametrize("line", re.findall(r"^hitledger size .*$", PAGE, re.MULTILINE))
def test_the_examples_of_size_run(line: str) -> None:
    arguments = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", line)][1:]
    if "./config.json" in arguments:
        arguments[1] = "llama-3-70b"
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
