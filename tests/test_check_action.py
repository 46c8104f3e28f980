"""The GitHub Action's steps run as scripts, and the hook runs with pre-commit itself."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from repositories import git

ROOT = Path(__file__).parent.parent
TRAFFIC = ROOT / "fixtures" / "check" / "traffic"
BIN = Path(sys.executable).parent
EXPRESSION = re.compile(r"\$\{\{ (inputs\.\w+|github\.action_path) \}\}")


def run_action(folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """What a runner does: defaults, inputs as environment, each step's script with bash, stop at the first failure."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    values = {f"inputs.{name}": str(row.get("default", "")) for name, row in action["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in given.items()} | {"github.action_path": str(ROOT)}
    done = None
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # an input in a script could be a command
        environment = {name: EXPRESSION.sub(lambda match: values[match[1]], text) for name, text in step["env"].items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=folder,
            env=os.environ
            | environment
            | {
                "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
                "GITHUB_STEP_SUMMARY": str(folder / "summary"),
                "GITHUB_OUTPUT": str(folder / "output"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            break
    assert done is not None
    return done


def test_action_within_the_limits(tmp_path: Path) -> None:
    done = run_action(
        tmp_path,
        baseline=str(TRAFFIC / "system.md"),
        candidate=str(TRAFFIC / "system-1500.md"),
        logs=f"{TRAFFIC / 'anthropic.jsonl'}\n{TRAFFIC / 'anthropic-short.jsonl'}\n",
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == "verdict=pass\n"
    assert (tmp_path / "summary").read_text() == (tmp_path / "hitledger.md").read_text()
    assert json.loads((tmp_path / "hitledger.sarif").read_text())["version"] == "2.1.0"


def test_action_over_a_limit(tmp_path: Path) -> None:
    (tmp_path / "system.md").write_text("You keep the ledger.\nToday is 2026-05-04.\n")
    done = run_action(tmp_path, candidate="system.md", arguments="--no-volatile-prefix\n--quiet")
    assert done.returncode == 4
    assert "::warning file=system.md,line=2,title=system.volatile_time::" in done.stdout
    assert (tmp_path / "output").read_text() == "verdict=fail\n"
    assert (tmp_path / "summary").read_text().startswith("### ❌")


def test_action_inputs_are_no_commands(tmp_path: Path) -> None:
    done = run_action(tmp_path, candidate="$(touch broken); touch broken", logs="`touch broken`")
    assert done.returncode == 3
    assert not (tmp_path / "broken").exists()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    hook: dict[str, Any] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    local = hook | {"language": "system", "entry": f"{BIN / 'hitledger'} {hook['entry'].split(' ', 1)[1]}"}
    config = {"repos": [{"repo": "local", "hooks": [local]}]}
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.md").write_text("You keep the ledger.\nToday is 2026-05-04.\n")
    (tmp_path / "notes.md").write_text("Today is 2026-05-04.\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first", "--no-verify")
    return tmp_path


def hook(project: Path) -> subprocess.CompletedProcess[str]:
    git(project, "add", ".")
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--color", "never"],
        cwd=project,
        env=os.environ | {"PRE_COMMIT_HOME": str(project / ".git" / "pre-commit-home")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_hook_says_nothing_of_what_is_committed_already(project: Path) -> None:
    (project / "prompts" / "system.md").write_text("You keep the ledger of a harbour.\nToday is 2026-05-04.\n")
    (project / "notes.md").write_text("Today is 2026-05-05.\n")
    done = hook(project)
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout


def test_hook_stops_what_changes_at_each_call(project: Path) -> None:
    (project / "prompts" / "system.md").write_text("You keep the ledger.\nToday is 2026-05-04.\nRequest id: 8f14e45f\n")
    done = hook(project)
    assert done.returncode == 1
    assert "exit code: 4" in done.stdout
    assert "prompts/system.md:3" in done.stdout


def test_hook_stops_a_tools_file_that_is_not_json(project: Path) -> None:
    (project / "prompts" / "tools.json").write_text("[{]")
    done = hook(project)
    assert done.returncode == 1
    assert "prompts/tools.json:1: not valid JSON" in done.stdout
