"""A call's expected read never rests on what that call reports to have read: only later calls may learn from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from hitledger.chains import Chains
from hitledger.expect import Forecaster, in_time_order
from hitledger.logs.read import read_logs
from hitledger.policies.rules import shipped
from hitledger.positions import Positions
from hitledger.tokens import TokenCounter
from hitledger.types import CacheWrite, Call, Usage

FIXTURES = Path(__file__).parent.parent / "fixtures"
LOGS = ("claude-code/real-session", "claude-code/sub-agents", "codex", "kimi", "opencode", "litellm", "bedrock")
COUNTER = TokenCounter()


@dataclass(frozen=True)
class Log:
    calls: tuple[Call, ...]
    predecessors: tuple[int | None, ...]
    reads: tuple[int | None, ...]


def expected(calls: Sequence[Call], predecessors: Sequence[int | None]) -> tuple[int | None, ...]:
    found = Forecaster(shipped(), Positions(COUNTER)).all(calls, predecessors)
    return tuple(None if one is None else one.forecast.read for one in found)


def log_of(folder: str) -> Log:
    calls = tuple(read_logs([str(FIXTURES / folder)]).calls())
    chains = Chains()
    predecessors = tuple(chains.link(call).predecessor for call in calls)
    return Log(calls, predecessors, expected(calls, predecessors))


def split_anew(usage: Usage, read: int) -> Usage:
    """The same prompt, another part of it read: the rest was written where the call writes, else computed."""
    known = usage.cache_read_tokens or 0
    if usage.cache_writes:
        rest = known + (usage.cache_write_tokens or 0) - read
        return replace(usage, cache_read_tokens=read, cache_writes=(CacheWrite(usage.cache_writes[0].ttl, rest),))
    rest = known + usage.uncached_input_tokens - read
    return replace(usage, cache_read_tokens=read, uncached_input_tokens=rest)


def readable(usage: Usage) -> int:
    rest = usage.cache_write_tokens if usage.cache_writes else usage.uncached_input_tokens
    return (usage.cache_read_tokens or 0) + (rest or 0)


@pytest.mark.parametrize("folder", LOGS)
def test_another_reported_read_moves_no_expectation_but_later_ones(folder: str) -> None:
    log = log_of(folder)
    order = in_time_order(log.calls)
    judged = [
        (place, index)
        for place, index in enumerate(order)
        if log.reads[index] is not None and (used := log.calls[index].usage) and used.cache_read_tokens is not None
    ]
    assert judged
    for place, index in judged[:: max(1, len(judged) // 12)]:
        usage = log.calls[index].usage
        assert usage is not None
        for read in (0, readable(usage) // 3, readable(usage)):
            calls = list(log.calls)
            calls[index] = replace(calls[index], usage=split_anew(usage, read))
            moved = expected(calls, log.predecessors)
            assert [moved[i] for i in order[: place + 1]] == [log.reads[i] for i in order[: place + 1]]


def test_the_next_calls_may_learn_from_it() -> None:
    """Control: what a transcript's call read of the hidden head changes what later calls are expected to read."""
    log = log_of("claude-code/real-session")
    calls = [replace(c, usage=split_anew(c.usage, readable(c.usage) // 3)) if c.usage else c for c in log.calls]
    assert expected(calls, log.predecessors) != log.reads
