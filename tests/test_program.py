"""The program as a process: it ends at once, and nothing that was printed is lost."""

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from hitledger_reports import program

SESSION = Path(__file__).parent.parent / "fixtures" / "claude-code" / "real-session"
RUN = [sys.executable, "-c", "from hitledger_reports.program import run; run()"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["audit", str(SESSION)], 0),
        (["audit", str(SESSION), "--fail-over", "0tokens"], 4),
        (["audit", "nowhere"], 3),
        (["audit", "--no-such-option"], 2),
        (["formats"], 0),
    ],
)
def test_exit_codes_and_whole_output(arguments: list[str], code: int) -> None:
    command = [sys.executable, "-c", "from hitledger_reports.cli import main; main()", *arguments]
    plain = subprocess.run(command, capture_output=True, text=True, check=False)
    ended = subprocess.run([*RUN, *arguments], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, plain.stdout, plain.stderr)


@pytest.mark.parametrize(("said", "code", "printed"), [(None, 0, ""), (3, 3, ""), ("no", 1, "no\n"), (True, 1, "")])
def test_what_an_exit_says(said: object, code: int, printed: str) -> None:
    script = f"import sys; from hitledger_reports.program import _end; sys.stdout.write('kept'); _end({said!r})"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "kept", printed)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_a_closed_stream_is_no_failure(closed: str) -> None:
    """A service or a CI job may start with either closed."""
    command = [*RUN, "audit", str(SESSION), "--quiet"]
    ended = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *command], capture_output=True, check=False)
    assert ended.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_an_error() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*RUN, "explain"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "hitledger: cannot write: No space left on device\n")


def test_the_installed_command_is_this_one() -> None:
    (entry,) = entry_points(group="console_scripts", name="hitledger")
    assert entry.load() is program.run
