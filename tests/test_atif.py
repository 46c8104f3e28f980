"""ATIF trajectories: exact token ids, copied steps, steps without a model, embedded sub-agents."""

from decimal import Decimal

from hitledger.logs import atif
from hitledger.types import Evidence, Kind
from log_reading import fixture, read, usage


def test_trajectory() -> None:
    found = read(atif, fixture("atif/trajectory.json"))
    assert [usage(call) for call in found.calls] == [(2048, 0, None, 20), (180, 1920, None, 9), (300, None, None, 4)]
    assert found.known == {
        "system step": 1,
        "user step": 2,
        "step without a model": 1,
        "step copied from another trajectory": 1,
    }
    assert found.calls[0].logged_cost == Decimal("0.001")
    assert [call.place.row for call in found.calls] == [3, 4, 8]


def test_token_ids_are_the_prompt() -> None:
    first, second, _ = read(atif, fixture("atif/trajectory.json")).calls
    assert (first.evidence, second.evidence) == (Evidence.EXACT, Evidence.RECONSTRUCTED)
    assert first.prompt_ids == tuple(range(32))
    assert first.generated_ids == (7, 8)
    assert next(segment.text for segment in first.prompt.segments()) == "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
    kinds = [segment.kind for segment in second.prompt.segments()]
    assert kinds == [
        *(Kind.HIDDEN, Kind.TOOL, Kind.TEXT, Kind.TEXT, Kind.THINKING, Kind.TEXT, Kind.TOOL_USE, Kind.TOOL_RESULT)
    ]


def test_embedded_sub_agent() -> None:
    call = read(atif, fixture("atif/trajectory.json")).calls[2]
    assert (call.agent, call.parent_agent, call.session, call.model) == ("t-sub", "main", "session-1", "gpt-5-nano")
    assert "several_calls_in_one" in call.notes
