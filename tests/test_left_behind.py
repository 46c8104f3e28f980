"""The short way of a transcript's call behind the one that it extends, against the way through all lives and marks."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitledger.audit import audit
from hitledger.policies.marked import MarkedCache
from hitledger.results import to_json

START = datetime(2026, 3, 2, tzinfo=UTC)
HIDDEN, STEP = 15_000, 400  # tokens

# Seconds since the last call, share of the last prompt that is read, lifetime written, calls to go back.
steps = st.lists(
    st.tuples(
        st.sampled_from((2, 40, 250, 310, 800, 3_700)),
        st.sampled_from((1.0, 1.0, 1.0, 0.5, 0.0)),
        st.sampled_from(("5m", "5m", "5m", "1h")),
        st.sampled_from((0, 0, 0, 0, 1, 3)),
    ),
    min_size=2,
    max_size=25,
)


def transcript(folder: Path, steps: Sequence[tuple[int, float, str, int]]) -> Path:
    """One file of two agents that take turns, so that two chains share a cache."""
    rows: list[dict[str, object]] = []
    now, prompts = START, [0]
    ends = {"": "r0", "helper": "h0"}

    def row(kind: str, uuid: str, parent: str | None, agent: str, message: object, **more: object) -> None:
        side = {"isSidechain": True, "agentId": agent} if agent else {"isSidechain": False}
        stamp = now.isoformat().replace("+00:00", "Z")
        fixed = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "version": "2.1.50"}
        rows.append({**fixed, "timestamp": stamp, "message": message, **side, **more})

    for agent, first in ends.items():
        row("user", first, None, agent, {"role": "user", "content": "go"})
    for number, (gap, share, ttl, back) in enumerate(steps):
        agent = "helper" if number % 3 == 2 else ""
        now += timedelta(seconds=gap)
        whole = HIDDEN + STEP * len(rows)
        read = min(int(prompts[-1] * share), whole)
        prompts.append(whole - 3)
        writes = {f"ephemeral_{name}_input_tokens": whole - 3 - read if name == ttl else 0 for name in ("5m", "1h")}
        usage = {"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": whole - 3 - read}
        usage |= {"cache_creation": writes, "output_tokens": 300}  # type: ignore[dict-item]
        ours = [str(one["uuid"]) for one in rows if one.get("agentId", "") == agent]
        parent = ours[-1 - 2 * back] if 2 * back < len(ours) else ours[-1]
        use = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}
        message = {
            "id": f"m{number}",
            "model": "claude-opus-4-5",
            "role": "assistant",
            "content": [use],
            "usage": usage,
        }
        row("assistant", f"a{number}", parent, agent, message, requestId=f"q{number}")
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"result {number}"}
        row("user", f"r{number + 1}", f"a{number}", agent, {"role": "user", "content": [result]})
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(steps=steps)
def test_both_ways_leave_the_same(tmp_path: Path, steps: list[tuple[int, float, str, int]]) -> None:
    path = str(transcript(tmp_path, steps))
    short = to_json(audit([path]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MarkedCache, "_left_behind_base", lambda *_: None)
        assert to_json(audit([path])) == short


def test_the_short_way_is_taken(tmp_path: Path) -> None:
    taken: list[bool] = []
    short = MarkedCache._left_behind_base
    with pytest.MonkeyPatch.context() as patch:

        def noted(cache: MarkedCache, *given: object) -> int | None:
            left = short(cache, *given)  # type: ignore[arg-type]
            taken.append(left is not None)
            return left

        patch.setattr(MarkedCache, "_left_behind_base", noted)
        audit([str(transcript(tmp_path, [(2, 1.0, "5m", 0)] * 12))])
    assert sum(taken) >= len(taken) // 2
