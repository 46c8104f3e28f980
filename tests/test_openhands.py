"""OpenHands: completions with whole prompts, events with running totals, trajectories with responses."""

import json
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from hitledger.logs import openhands_completions, openhands_events, openhands_trajectory
from hitledger.logs.files import LogFile
from hitledger.types import Evidence, Kind
from log_reading import FIXTURES, fixture, read, usage

COMPLETIONS = FIXTURES / "openhands-completions/completions/conversation"


def test_completions_are_exact_and_in_order() -> None:
    files = [LogFile(path, f"conversation/{path.name}") for path in sorted(COMPLETIONS.iterdir(), reverse=True)]
    calls = read(openhands_completions, *files).calls
    assert [usage(call) for call in calls] == [(4812, 0, 0, 146), (5002, 0, 0, 95), (6123, 0, 0, 120)]
    assert [call.logged_cost for call in calls] == [
        Decimal("0.016626000000000002"),
        Decimal("0.016431"),
        Decimal("0.020169"),
    ]
    assert len({call.session for call in calls}) == 1
    first, second, third = (call.prompt.segments() for call in calls)
    assert [segment.kind for segment in first] == [*[Kind.TOOL] * 3, Kind.SYSTEM, Kind.TEXT]
    assert (second[:5], third[:8]) == (first, second)
    assert all(call.evidence is Evidence.EXACT for call in calls)
    assert calls[0].ended_at
    assert calls[0].started_at == calls[0].ended_at - timedelta(seconds=4.65870213508606)


def test_events_give_the_growth_of_the_totals() -> None:
    found = read(openhands_events, fixture("openhands-events/conversation/events.jsonl"))
    assert [usage(call) for call in found.calls] == [
        (596, 0, 0, 775),
        (35299 - 1115, 1115, 0, 185),
        (35579 - 33421, 33421, 0, 195),
        (35984 - 33657, 33657, 0, 192),
    ]
    assert all(call.evidence is Evidence.USAGE_ONLY and "usage_from_totals" in call.notes for call in found.calls)
    assert not any("several_calls_in_one" in call.notes for call in found.calls)  # each growth is one call's


def event(total: int, last: int, name: str = "default") -> dict[str, object]:
    token_usage = {"model": "gpt-5", "prompt_tokens": total, "completion_tokens": 0, "per_turn_token": last}
    metrics = {name: {"accumulated_token_usage": token_usage}}
    stats = {"key": "stats", "value": {"usage_to_metrics": metrics}, "kind": "ConversationStateUpdateEvent"}
    return {"id": f"e{total}", "timestamp": "2026-06-16T05:39:18", "source": "environment", **stats}


def conversation(tmp_path: Path, state: object | None, *events: object) -> list[LogFile]:
    (tmp_path / "events").mkdir()
    for number, each in enumerate(events):
        (tmp_path / f"events/event-{number:05}.json").write_text(json.dumps(each))
    if state is not None:
        (tmp_path / "base_state.json").write_text(json.dumps(state))
    return [
        LogFile(path, f"c/{path.relative_to(tmp_path)}")
        for path in sorted(tmp_path.rglob("*.json"), key=lambda p: p.name)
    ]


def test_growth_of_more_than_one_call_is_said(tmp_path: Path) -> None:
    found = read(openhands_events, *conversation(tmp_path, None, event(100, 100), event(400, 120)))
    assert [call.input_tokens for call in found.calls] == [100, 300]
    assert ["several_calls_in_one" in call.notes for call in found.calls] == [False, True]


def test_state_that_lists_the_calls_replaces_the_totals(tmp_path: Path) -> None:
    used = {
        "model": "gpt-5",
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "cache_read_tokens": 64,
        "response_id": "r1",
    }
    metrics = {"default": {"token_usages": [used], "costs": [{"cost": 0.5}]}}
    state = {"id": "c", "persistence_dir": "/work", "stats": {"usage_to_metrics": metrics}}
    found = read(openhands_events, *conversation(tmp_path, state, event(100, 100)))
    assert [(call.id, usage(call), call.logged_cost) for call in found.calls] == [
        ("r1", (36, 64, None, 7), Decimal("0.5"))
    ]
    assert found.known == {"ConversationStateUpdateEvent": 1}


def test_two_usages_that_grow_in_one_event_are_two_calls(tmp_path: Path) -> None:
    both = event(100, 100)
    value = both["value"]
    assert isinstance(value, dict)
    value["usage_to_metrics"]["condenser"] = {"accumulated_token_usage": {"model": "gpt-5", "prompt_tokens": 40}}
    found = read(openhands_events, *conversation(tmp_path, None, both))
    assert [(call.agent, call.purpose) for call in found.calls] == [("main", ""), ("condenser", "compaction")]


def test_trajectory_counts_a_response_once() -> None:
    found = read(openhands_trajectory, fixture("openhands-trajectory/basic.json"))
    assert [usage(call) for call in found.calls] == [(4, 0, 3482, 1135), (6, 3482, 1158, 177)]
    kinds = [segment.kind for segment in found.calls[1].prompt.segments()]
    assert kinds == [Kind.HIDDEN, Kind.TEXT, Kind.TEXT, Kind.TOOL_USE, Kind.TOOL_RESULT]
    assert found.calls[1].started_at
    assert found.calls[1].started_at.isoformat() == "2025-01-27T22:45:13.801384+00:00"
