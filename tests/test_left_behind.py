"""The short way of a transcript's call behind the one that it extends, against the way through all lives and marks."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from hitledger.audit import audit
from hitledger.policies.marked import MarkedCache
from hitledger.results import to_json

START = datetime(2026, 3, 2, tzinfo=UTC)
STEP = 400  # tokens
SESSIONS = 300
AHEAD, ANEW = 0, -1  # hangs on the last row, on none; any other number: on that one from the end

# Seconds to the next call, share of the last prompt that is read, lifetime written, what it hangs on, whether its prompt
# is as long as it should be or has lost its figures.
Step = tuple[int, float, str, int, bool]


def steps_of(random: Random) -> list[Step]:
    """Calls that branch off and come back, with pauses of which two are longer than a lifetime."""
    return [
        (
            random.choice((2, 40, 200, 270, 310, 3_700)),
            random.choice((1.0, 1.0, 1.0, 0.5, 0.0)),
            random.choice(("5m", "5m", "5m", "5m", "1h")),
            random.choice((AHEAD, AHEAD, AHEAD, ANEW, random.randint(2, 5), random.randint(2, 5))),
            random.random() < 0.9,
        )
        for _ in range(random.randint(4, 25))
    ]


def transcript(folder: Path, steps: Sequence[Step], hidden: int) -> Path:
    """One file of two agents that take turns, so that two chains share a cache. `hidden`: tokens not in the log."""
    rows: list[dict[str, object]] = []
    now, left = START, 0

    def row(kind: str, uuid: str, parent: str | None, agent: str, message: object, **more: object) -> None:
        side = {"isSidechain": True, "agentId": agent} if agent else {"isSidechain": False}
        stamp = now.isoformat().replace("+00:00", "Z")
        fixed = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "version": "2.1.50"}
        rows.append({**fixed, "timestamp": stamp, "message": message, **side, **more})

    def said(uuid: str, agent: str) -> None:
        row("user", uuid, None, agent, {"role": "user", "content": "go"})

    for agent in ("", "helper"):
        said(f"first{agent}", agent)
    for number, (gap, share, ttl, hangs_on, grows) in enumerate(steps):
        agent = "helper" if number % 4 == 3 else ""
        if hangs_on == ANEW:
            said(f"anew{number}", agent)
        ours = [str(one["uuid"]) for one in rows if one.get("agentId", "") == agent and one["type"] == "user"]
        parent = ours[-min(max(hangs_on, 1), len(ours))]
        whole = hidden + STEP * number if grows else 900
        read = min(int(left * share), whole)
        left, written = whole, whole - read
        writes = {f"ephemeral_{name}_input_tokens": written if name == ttl else 0 for name in ("5m", "1h")}
        usage = {"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        usage |= {"cache_creation": writes, "output_tokens": 300}  # type: ignore[dict-item]
        use = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}
        message = {
            "id": f"m{number}",
            "model": "claude-opus-4-5",
            "role": "assistant",
            "content": [use],
            "usage": usage,
        }
        row("assistant", f"a{number}", parent, agent, message, requestId=f"q{number}")
        now += timedelta(seconds=gap)  # a call starts when its last input comes in
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"result {number}"}
        row("user", f"r{number}", f"a{number}", agent, {"role": "user", "content": [result]})
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_both_ways_leave_the_same(tmp_path: Path) -> None:
    for seed in range(SESSIONS):
        random = Random(seed)
        path = str(transcript(tmp_path, steps_of(random), random.choice((500, 3_900, 15_000, 15_000))))
        short = to_json(audit([path]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MarkedCache, "_left_behind_base", lambda *_: None)
            assert to_json(audit([path])) == short, seed


def test_the_short_way_is_taken(tmp_path: Path) -> None:
    taken: list[bool] = []
    short = MarkedCache._left_behind_base
    with pytest.MonkeyPatch.context() as patch:

        def noted(cache: MarkedCache, *given: object) -> int | None:
            left = short(cache, *given)  # type: ignore[arg-type]
            taken.append(left is not None)
            return left

        patch.setattr(MarkedCache, "_left_behind_base", noted)
        audit([str(transcript(tmp_path, [(2, 1.0, "5m", AHEAD, True)] * 12, 15_000))])
    assert sum(taken) >= len(taken) // 2
