"""What a call of a long session costs does not grow with the calls before it: lines of code are counted, not seconds."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hitledger.audit import AuditOptions, audit
from hitledger.logs.read import read_logs
from hitledger.policies import marked
from hitledger.policies.rules import shipped
from hitledger.prices import PriceBook
from hitledger.tokens import TokenCounter
from hitledger.whatif.run import Change, what_if
from long_captures import CAPTURES
from long_clock import Clock
from long_documents import opencode, swe_agent
from long_sessions import AGENTS, write_session

CALLS = 60
SMALL = 0.02  # of the lines of the shortest session; one line a call and call before it would be 2 * CALLS / 1,000


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of this package are run."""
    count = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def enter(frame: FrameType, _event: str, _argument: Any) -> Any:
        return line if "hitledger" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def bend(lines: list[int]) -> float:
    """How far the lines of sessions of one, two and three lengths are from a straight line, as a share of the first."""
    one, two, three = lines
    return abs(three - 2 * two + one) / one


@pytest.mark.parametrize("pause", [20, 4000], ids=["in time", "too late"])
@pytest.mark.parametrize("log", [*AGENTS, *CAPTURES])
def test_an_audit_is_linear_in_the_calls_of_a_session(
    log: str, pause: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marked, "FARTHEST", 4)  # far less than the calls of the shortest session
    paths = [str(write_session(tmp_path / str(n), log, n * CALLS, pause)) for n in (1, 2, 3)]
    options = AuditOptions(segments=False, rows=False, located=5)
    assert [len(audit([path], options).calls) for path in paths] == [CALLS, 2 * CALLS, 3 * CALLS]
    lines = [lines_of(lambda path=path: audit([path], options)) for path in paths]  # type: ignore[misc]
    assert bend(lines) < SMALL, lines


@pytest.mark.parametrize("document", [swe_agent, partial(opencode, cleared=10)], ids=["swe-agent", "opencode, cleared"])
def test_a_history_is_laid_out_once(document: Callable[[int, Clock], Any], tmp_path: Path) -> None:
    """Reading is linear where the audit is not: the prompts of these logs are whole ones, and go on from no other."""
    lines = []
    for n in (1, 2, 3):
        path = tmp_path / f"{n}.json"
        path.write_text(json.dumps(document(n * CALLS, Clock(20))))
        assert len(list(read_logs([str(path)]).calls())) == n * CALLS
        lines.append(lines_of(lambda path=path: list(read_logs([str(path)]).calls())))  # type: ignore[misc]
    assert bend(lines) < SMALL, lines


@pytest.mark.parametrize("log", ["claude-code", "copilot-cli", "opencode", "bodies"])
def test_a_question_is_linear_in_the_calls_of_a_session(log: str, tmp_path: Path) -> None:
    found = []
    for n in (1, 2, 3):
        path = write_session(tmp_path / str(n), log, n * CALLS, 20)
        calls = tuple(read_logs([str(path)]).calls())

        def ask(calls: Any = calls) -> object:
            return what_if(calls, Change(lifetime="1h"), shipped(), PriceBook(), TokenCounter())

        ask()
        found.append(lines_of(ask))
    assert bend(found) < SMALL, found
