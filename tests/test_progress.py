"""Bars where a person waits, nothing where nobody does."""

import io
import sys
from pathlib import Path

import pytest

from hitledger.audit import audit
from hitledger.stages import STEP, Stages
from hitledger_reports import progress

FIXTURES = Path(__file__).parent.parent / "fixtures"


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """To be called in the test itself: pytest puts its own stderr back before that."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def test_bars_show_how_far_it_is_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with progress.reading(quiet=False) as (read, judged):
        assert read is not None
        assert judged is not None
        read(50, 100)
        judged(3, 4)
    shown = screen.getvalue()
    assert "reading" in shown
    assert "judging" in shown
    assert "50%" in shown
    assert "75%" in shown
    assert "-:--:--" in shown or "0:00:0" in shown  # the time left


@pytest.mark.parametrize("bars", [progress.reading, progress.replaying, progress.drawing])
def test_quiet_shows_nothing(monkeypatch: pytest.MonkeyPatch, bars: object) -> None:
    screen = terminal(monkeypatch)
    with bars(True) as shown:  # type: ignore[operator]
        assert shown in (None, (None, None))
    assert screen.getvalue() == ""


def test_a_pipe_gets_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.drawing(quiet=False) as drawn:
        assert drawn is None
    assert capsys.readouterr().err == ""


def test_stages_count_all_items_of_all_stages() -> None:
    steps: list[tuple[int, int]] = []
    stages = Stages(lambda done, total: steps.append((done, total)), STEP + 10, 2)
    for _ in range(2):
        assert list(stages.over(range(STEP + 10))) == list(range(STEP + 10))
    whole = 2 * (STEP + 10)
    assert steps == [(STEP, whole), (2 * STEP, whole), (whole, whole)]
    items = range(3)
    assert Stages(None, 3, 1).over(items) is items


def test_an_audit_reports_bytes_and_then_calls() -> None:
    read: list[tuple[int, int]] = []
    judged: list[tuple[int, int]] = []
    log = FIXTURES / "claude-code" / "real-session"
    found = audit([str(log)], None, lambda *step: read.append(step), lambda *step: judged.append(step))
    size = sum(path.stat().st_size for path in log.rglob("*.jsonl"))
    assert read[-1] == (size, size)
    assert judged[-1] == (6 * len(found.calls), 6 * len(found.calls))


def test_a_closed_standard_error_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has none then; the audit goes on all the same."""
    monkeypatch.setattr("sys.stderr", None)
    with progress.drawing(quiet=False) as drawn:
        assert drawn is None
