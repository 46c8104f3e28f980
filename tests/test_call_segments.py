"""Segments of a transcript's calls carry estimates that add up to what the log says was added."""

from pathlib import Path

import pytest

from hitledger.audit import audit
from hitledger.results import CallResult
from hitledger.types import Certainty

SESSION = Path(__file__).parent.parent / "fixtures" / "claude-code" / "real-session"


@pytest.fixture(scope="module")
def calls() -> tuple[CallResult, ...]:
    return audit([str(SESSION)]).calls


def test_growth_is_spread_over_the_new_segments(calls: tuple[CallResult, ...]) -> None:
    by_id = {call.id: call for call in calls}
    lengths: dict[str, int] = {}
    checked = 0
    for call in calls:
        lengths[call.id] = call.shared_segments + len(call.segments)
        before = by_id.get(call.predecessor or "")
        if before is None or call.input_tokens is None or before.input_tokens is None:
            continue
        grown = call.input_tokens - before.input_tokens
        own = [segment.tokens for segment in call.segments]
        if own and call.shared_segments == lengths[before.id] and grown > 0 and None not in own:
            assert abs(sum(tokens or 0 for tokens in own) - grown) <= len(own)
            checked += 1
    assert checked > 5


def test_the_hidden_part_takes_the_rest_of_the_first_call(calls: tuple[CallResult, ...]) -> None:
    first = calls[0]
    assert first.input_tokens is not None
    assert abs(sum(segment.tokens or 0 for segment in first.segments) - first.input_tokens) <= len(first.segments)


def test_they_are_said_to_be_estimates(calls: tuple[CallResult, ...]) -> None:
    assert {call.certainty["segments"] for call in calls} == {Certainty.ESTIMATED}
