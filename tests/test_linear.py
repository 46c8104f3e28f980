"""What a call of a long session costs does not grow with the calls before it: lines of code are counted, not seconds."""

import sys
from collections.abc import Callable
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
from long_sessions import ROWS, write_session

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
@pytest.mark.parametrize("agent", [*ROWS, "cline"])
def test_an_audit_is_linear_in_the_calls_of_a_session(
    agent: str, pause: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marked, "FARTHEST", 4)  # far less than the calls of the shortest session
    paths = [str(write_session(tmp_path / str(n), agent, n * CALLS, pause)) for n in (1, 2, 3)]
    options = AuditOptions(segments=False, located=5)
    assert [len(audit([path], options).calls) for path in paths] == [CALLS, 2 * CALLS, 3 * CALLS]
    lines = [lines_of(lambda path=path: audit([path], options)) for path in paths]  # type: ignore[misc]
    assert bend(lines) < SMALL, lines


def test_a_question_is_linear_in_the_calls_of_a_session(tmp_path: Path) -> None:
    found = []
    for n in (1, 2, 3):
        path = write_session(tmp_path / str(n), "claude-code", n * CALLS, 20)
        calls = tuple(read_logs([str(path)]).calls())

        def ask(calls: Any = calls) -> object:
            return what_if(calls, Change(lifetime="1h"), shipped(), PriceBook(), TokenCounter())

        ask()
        found.append(lines_of(ask))
    assert bend(found) < SMALL, found
