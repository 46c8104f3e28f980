"""More hand calculations, on recordings made here: long lifetimes, two warm sessions, a mixed fleet, steps, a new model.

All texts have exact lengths in tokens, and no two of different salt share a prefix. Prices are USD a million tokens.
Marks stand on the system prompt, and where a test says so on the newest question. Answers are 20 tokens.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from hitledger.check.limits import Increase, Limits
from hitledger.check.result import CheckResult, to_json
from hitledger.check.run import CheckOptions, check
from hitledger.check.traffic import TrafficOptions
from hitledger.check.transition import parse_shares
from hitledger.tokens import TokenCounter

START = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)
ANSWER = 20


def words(tokens: int, salt: str) -> str:
    """A text of so many tokens that starts with its salt."""
    text = salt + " tide" * (tokens - 1)
    assert len(TokenCounter().ids(text, "gpt-4o")) == tokens
    return text


class Recording:
    """Writes a log of sessions, a turn at a time; the usage is what was counted by hand, in all and cached."""

    def __init__(self, folder: Path, model: str, system: str, ttl: str = "", mark_question: bool = False) -> None:
        self.folder, self.model, self.system, self.ttl, self.mark_question = folder, model, system, ttl, mark_question
        self.rows: list[dict[str, Any]] = []
        self.turns: dict[str, list[dict[str, Any]]] = {}

    def call(self, session: str, minutes: float, question: int, total: int, id: str = "") -> None:
        """One more question of so many tokens. `total`: prompt tokens, as counted by hand."""
        history = self.turns.setdefault(session, [])
        said = {"role": "assistant", "content": words(ANSWER, "N")}
        before = [*history, said] if history else []
        asked = words(question, "Q" if session < "G" else "R")
        messages = [*before, {"role": "user", "content": asked}]
        self.turns[session] = messages
        number = id or f"call_{len(self.rows)}"
        claude = self.model.startswith("claude")
        self.rows.append(
            {
                "timestamp": (START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z"),
                "session_id": session,
                "request": self.marked(messages) if claude else self.plain(messages),
                "response": self.of_claude(number, total) if claude else self.of_openai(number, total),
            }
        )

    def mark(self) -> dict[str, str]:
        return {"type": "ephemeral"} | ({"ttl": self.ttl} if self.ttl else {})

    def marked(self, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
        system = [{"type": "text", "text": self.system, "cache_control": self.mark()}]
        rows = list(messages)
        if self.mark_question:
            block = {"type": "text", "text": rows[-1]["content"], "cache_control": self.mark()}
            rows[-1] = {"role": "user", "content": [block]}
        return {"model": self.model, "max_tokens": 100, "system": system, "messages": rows}

    def plain(self, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {"model": self.model, "messages": [{"role": "system", "content": self.system}, *messages]}

    def of_claude(self, id: str, total: int) -> dict[str, Any]:
        usage = {"input_tokens": total, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        content = [{"type": "text", "text": words(ANSWER, "N")}]
        return {"id": id, "type": "message", "role": "assistant", "model": self.model, "content": content,
                "usage": usage | {"output_tokens": ANSWER}}  # fmt: skip

    def of_openai(self, id: str, total: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": words(ANSWER, "N")}
        usage = {"prompt_tokens": total, "completion_tokens": ANSWER, "total_tokens": total + ANSWER}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        return {"id": id, "object": "chat.completion", "model": self.model, "choices": choices, "usage": usage}

    def check(self, baseline: Any, candidate: Any, **options: Any) -> dict[str, Any]:
        """The JSON of the check."""
        result = self.result(baseline, candidate, **options)
        found: dict[str, Any] = json.loads(to_json(result))
        return found

    def result(self, baseline: Any, candidate: Any, **options: Any) -> CheckResult:
        log = self.folder / "log.jsonl"
        log.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        files = []
        for name, value in (("old", baseline), ("new", candidate)):
            file = self.folder / (f"{name}.md" if isinstance(value, str) else f"{name}.json")
            file.write_text(value if isinstance(value, str) else json.dumps(value))
            files.append(str(file))
        return check(CheckOptions(baseline=files[0], candidate=files[1], logs=(str(log),), **options))


def expect(found: dict[str, Any], rates: tuple[float, float], micros: tuple[float, float], once: float) -> None:
    """Money in millionths of a dollar. A log of less than a day counts as a day."""
    assert (found["hit_rate"]["before"], found["hit_rate"]["after"]) == pytest.approx(rates, abs=1e-12)
    money = (found["cost_per_day"]["before"], found["cost_per_day"]["after"], found["one_off_cost"])
    assert tuple(map(Decimal, money)) == tuple(usd(one) for one in (*micros, once))


def usd(micros: float) -> Decimal:
    return Decimal(round(micros)) / 1_000_000  # half to even, as in the result


def test_one_hour_lifetime(tmp_path: Path) -> None:
    """Sonnet 4.5: read 0.30, write (1 h) 6, input 3, output 15. System 3,000 -> 3,700; calls at 0, 40 and 110 minutes.

    The read at 40 renews the hour, which is over at 100: write, read, write. Uncached 100 + 190 + 280 = 570.
    before 6,000 x 6 + 3,000 x 0.3 + 570 x 3 + 60 x 15 = 39,510; after 7,400 x 6 + 3,700 x 0.3 + 2,610 = 48,120.
    Deploy in front of the second call: 3,700 x (6 - 0.3) = 21,090; the third writes again in either world.
    """
    log = Recording(tmp_path, "claude-sonnet-4-5", words(3_000, "A"), ttl="1h")
    log.call("Eve", 0, 100, 3_100)
    log.call("Eve", 40, 70, 3_190)
    log.call("Eve", 110, 70, 3_280)
    found = log.check(log.system, words(3_700, "B"))
    expect(found, (3_000 / 9_570, 3_700 / 11_670), (39_510, 48_120), 21_090)
    assert found["traffic"]["rewritten_tokens"] == 3_700


def two_sessions(folder: Path, ids: Sequence[str] = ("",) * 6) -> Recording:
    """Fay and Gus take turns, a call a minute; questions of 80 and 90, then 50; the newest one is marked as well."""
    log = Recording(folder, "claude-sonnet-4-5", words(2_000, "A"), mark_question=True)
    totals = (2_080, 2_090, 2_150, 2_160, 2_220, 2_230)
    for turn, (total, id) in enumerate(zip(totals, ids, strict=True)):
        first = (80, 90)[turn % 2] if turn < 2 else 50
        log.call(("Fay", "Gus")[turn % 2], turn, first, total, id)
    return log


def test_two_sessions_that_are_warm_at_the_deploy(tmp_path: Path) -> None:
    """System 2,000 -> 2,600. Reads 0, 2,000, 2,080, 2,090, 2,150, 2,160 = 10,480 of 12,930, writes 2,450.

    before 10,480 x 0.3 + 2,450 x 3.75 + 120 x 15 = 14,131.5; after 13,480 x 0.3 + 3,050 x 3.75 + 1,800 = 17,281.5.
    Deploy behind the fourth call: Fay reads 0 instead of 2,750; Gus the new system prompt that Fay wrote, 2,600 instead
    of 2,760: 2,910 x (3.75 - 0.30) = 10,039.5.
    """
    options = TrafficOptions(deploy_at=START + timedelta(minutes=3, seconds=30))
    log = two_sessions(tmp_path)
    found = log.check(log.system, words(2_600, "B"), traffic=options)
    expect(found, (10_480 / 12_930, 13_480 / 16_530), (14_131.5, 17_281.5), 10_039.5)
    assert (found["traffic"]["warm_sessions"], found["traffic"]["rewritten_tokens"]) == (2, 2_910)
    assert [(one["id"], one["rewritten_tokens"]) for one in found["sessions"]] == [("Fay", 2_750), ("Gus", 160)]


def ids_drawn(wanted: Sequence[bool]) -> list[str]:
    """Ids whose hash lies in the lower half (True: on the candidate) or in the upper one."""
    found: list[str] = []
    number = 0
    for lower in wanted:
        while (blake2b(f"msg_{number}".encode(), digest_size=6).digest()[0] < 128) is not lower:
            number += 1
        found.append(f"msg_{number}")
        number += 1
    return found


def test_a_fleet_of_two_halves(tmp_path: Path) -> None:
    """From the third call on half of the calls get the candidate: here Fay 2, Gus 2 and Gus 3, but not Fay 3.

    Fay 2 reads 0 instead of 2,680. Gus 2 reads the new system prompt that Fay 2 wrote, 2,600 instead of 2,690: 90. Fay 3
    finds what Fay 1 left of the baseline four minutes ago, 2,080 instead of 2,150: 70. Gus 3 finds Gus 2's: 0.
    2,840 x 3.45 = 9,798.
    """
    log = two_sessions(tmp_path, ids_drawn((True, True, True, True, False, True)))
    options = TrafficOptions(deploy_at=START + timedelta(minutes=1, seconds=30), rollout=parse_shares("0:50%"))
    rollout = log.check(log.system, words(2_600, "B"), traffic=options)["traffic"]["rollout"]
    assert (rollout["cost"], rollout["rewritten_tokens"], rollout["calls_on_candidate"]) == ("0.009798", 2_840, 3)


def test_openai_in_steps(tmp_path: Path) -> None:
    """GPT-4o: input 2.5, read 1.25, output 10. System 1,500 -> 1,900; prompts 1,560, 1,630, 1,700 and 400 more each.

    Common 1,560 and 1,630 are both 12 steps of 128: 3,072 of 4,890; after 1,960 and 2,030 are 15: 3,840 of 6,090.
    before 3,072 x 1.25 + 1,818 x 2.5 + 600 = 8,985; after 3,840 x 1.25 + 2,250 x 2.5 + 600 = 11,025.
    Deploy in front of the second call: 1,920 x 1.25 = 2,400.
    """
    log = Recording(tmp_path, "gpt-4o", words(1_500, "A"))
    for turn, total in enumerate((1_560, 1_630, 1_700)):
        log.call("Hal", turn, 50 if turn else 60, total)
    found = log.check(log.system, words(1_900, "B"))
    expect(found, (3_072 / 4_890, 3_840 / 6_090), (8_985, 11_025), 2_400)


def model_change(folder: Path, asked: str = "claude-sonnet-4-5", **options: Any) -> dict[str, Any]:
    """Two calls, a minute apart, under a system prompt of 5,000; the candidate's body differs in its model alone."""
    log = Recording(folder, asked, words(5_000, "A"))
    log.call("Ida", 0, 100, 5_100)
    log.call("Ida", 1, 70, 5_190)
    bodies = [log.marked([{"role": "user", "content": "Hello."}]) | {"model": m} for m in ("claude-sonnet-4-5", "claude-opus-4-5")]  # fmt: skip
    return log.check(*bodies, **options)


def test_another_model_is_priced_and_cached_by_its_own_rules(tmp_path: Path) -> None:
    """Sonnet 4.5: 3.75, 0.30, 3, 15; Opus 4.5: 6.25, 0.50, 5, 25, and caches from 4,096 on. Uncached 100 + 190.

    before 5,000 x (3.75 + 0.3) + 290 x 3 + 40 x 15 = 21,720; after 5,000 x (6.25 + 0.5) + 290 x 5 + 40 x 25 = 36,200.
    No entry of one model is read by another: 5,000 x (6.25 - 0.50) = 28,750.
    """
    limits = Limits(max_cost_increase=Increase(Decimal(5), True))
    found = model_change(tmp_path, limits=limits)
    expect(found, (5_000 / 10_290, 5_000 / 10_290), (21_720, 36_200), 28_750)
    assert found["verdict"] == "fail"
    assert found["traffic"]["certainty"] == "estimated"
    assert "asks claude-opus-4-5 instead of claude-sonnet-4-5" in found["traffic"]["notes"][0]
    assert [one["path"] for one in found["sessions"]] == ["model"]


def test_another_model_than_was_recorded_is_said(tmp_path: Path) -> None:
    """The recorded calls asked neither of the two: they keep their model, nothing changes, and the result says so."""
    found = model_change(tmp_path, asked="claude-haiku-4-5")
    assert found["cost_per_day"]["before"] == found["cost_per_day"]["after"]
    assert found["one_off_cost"] == "0"
    assert "no recorded call asked the baseline's model" in found["traffic"]["notes"][0]
