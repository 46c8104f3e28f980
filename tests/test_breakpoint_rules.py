"""Anthropic's documented examples, by hand: one word is one token."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from call_builders import START, call, usage
from hitledger.audit import AuditOptions, audit_calls
from hitledger.logs.ingest import Ingest
from hitledger.policies.cache import Obstacle
from hitledger.segments import Api
from rule_builders import blocks, chat, expected, reads, rule_named, words


def test_the_three_turns_of_the_documentation() -> None:
    """Marks at 10, 15 and 35: the second finds the first, the third looks at 35 to 16 and finds nothing."""
    first, second = call(blocks((10, "5m"), number=10), 0), call(blocks((15, "5m"), number=15), 1)
    third = call(blocks((35, "5m"), number=35), 2)
    found = expected([first, second, third])
    assert [one.forecast.read for one in found if one] == [0, 1000, 0]
    blocked = found[2].blocked if found[2] else None
    assert blocked is not None
    assert (blocked.obstacle, blocked.tokens, blocked.positions_back) == (Obstacle.BEYOND_LOOKBACK, 1500, 21)


def test_a_second_mark_within_reach_finds_it() -> None:
    second, third = call(blocks((15, "5m"), number=15), 1), call(blocks((15, "5m"), (35, "5m"), number=35), 2)
    assert reads([second, third]) == [0, 1500]


def test_position_twenty_is_looked_at_and_twenty_one_is_not() -> None:
    first = call(blocks((15, "5m"), number=15), 0)
    assert reads([first, call(blocks((34, "5m"), number=34), 1)]) == [0, 1500]
    assert reads([first, call(blocks((35, "5m"), number=35), 1)]) == [0, 0]


def test_mixed_lifetimes_are_billed_as_read_a_1h_b_minus_a_5m_c_minus_b() -> None:
    first = call(blocks((10, "1h"), number=10), 0)
    second = call(blocks((20, "1h"), (30, "5m"), number=33), 1)
    found = expected([first, second])[1]
    assert found is not None
    assert (found.forecast.read, found.forecast.writes) == (1000, (("1h", 1000), ("5m", 1000)))


def test_a_run_of_tool_blocks_is_one_position_from_september_2026_on() -> None:
    """Thirty parallel calls and their results: 60 blocks, two runs."""
    uses = [{"type": "tool_use", "id": f"t{i}", "name": "look", "input": {"n": i}} for i in range(30)]
    results = [{"type": "tool_result", "tool_use_id": f"t{i}", "content": words(9)} for i in range(30)]
    head = {"role": "user", "content": [{"type": "text", "text": words(900), "cache_control": {"type": "ephemeral"}}]}
    marked = [*results[:-1], {**results[-1], "cache_control": {"type": "ephemeral"}}]
    text = {"role": "user", "content": [{"type": "text", "text": words(900)}]}
    grown = [text, {"role": "assistant", "content": uses}, {"role": "user", "content": marked}]
    bodies = [{"model": "claude-opus-5", "messages": messages} for messages in ([head], grown)]
    calls = [call(body, number) for number, body in enumerate(bodies)]
    assert reads(calls, rule_named("anthropic-2024-08")) == [0, 0]
    later = rule_named("anthropic-2026-09", valid_from=START.date())
    assert reads(calls, later) == [0, 900]


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-opus-5-5", 512),
        ("claude-haiku-5-5", 512),
        ("claude-sonnet-5-5[1m]", 512),
        ("claude-sonnet-5", 1024),
        ("claude-opus-4-8", 1024),
        ("anthropic/claude-sonnet-4.6", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-mythos-preview", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-haiku-4-5-20251001", 4096),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 4096),
    ],
)
def test_nothing_is_cached_below_the_minimum(model: str, minimum: int) -> None:
    short = blocks((1, "5m"), number=1, size=minimum - 1, model=model)
    enough = blocks((1, "5m"), number=1, size=minimum, model=model)
    assert reads([call(short, 0), call(short, 1)]) == [0, 0]
    assert reads([call(enough, 0), call(enough, 1)]) == [0, minimum]


@pytest.mark.parametrize(
    ("ttl", "gap", "read"), [("5m", 300, 1000), ("5m", 301, 0), ("1h", 3600, 1000), ("1h", 3601, 0)]
)
def test_a_lifetime_counts_from_the_start_of_the_request(ttl: str, gap: int, read: int) -> None:
    body = blocks((10, ttl), number=10)
    assert reads([call(body, 0, at=0), call(body, 1, at=gap)]) == [0, read]


def test_a_read_renews_the_entry() -> None:
    body = blocks((10, "5m"), number=10)
    assert reads([call(body, n, at=200 * n) for n in range(4)]) == [0, 1000, 1000, 1000]


def test_an_entry_can_be_read_once_its_answer_began() -> None:
    body = blocks((10, "5m"), number=10)
    first = call(body, 0, at=0, first_token_at=datetime(2026, 8, 4, 9, 0, 3, tzinfo=UTC))
    assert reads([first, call(body, 1, at=2)]) == [0, 0]
    assert reads([first, call(body, 1, at=3)]) == [0, 1000]


def test_a_changed_parameter_loses_its_tier_and_what_follows() -> None:
    marked = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": words(600, "s"), **marked}]
    messages = [{"role": "user", "content": [{"type": "text", "text": words(100), **marked}]}]
    body = {"model": "claude-opus-5", "system": system, "messages": messages}
    other = {**body, "tool_choice": {"type": "any"}}
    assert reads([call(body, 0), call(body, 1)]) == [0, 700]
    assert reads([call(body, 0), call(other, 1)]) == [0, 600]
    assert reads([call(body, 0), call({**body, "tool_choice": {"type": "auto"}}, 1)]) == [0, 700]


def test_a_dropped_mark_reads_nothing() -> None:
    assert reads([call(blocks((10, "5m"), number=10), 0), call(blocks(number=10), 1)]) == [0, 0]


def marked_chat(number: int, model: str, provider: str, seconds: float | None = None) -> object:
    content = [{"type": "text", "text": words(2000), "cache_control": {"type": "ephemeral"}}]
    body = {"model": model, "messages": [{"role": "user", "content": content}]}
    return call(body, number, api=Api.CHAT, provider=provider, at=seconds)


def test_a_router_passes_the_rule_of_the_vendor_on() -> None:
    calls = [marked_chat(n, "anthropic/claude-sonnet-4.6", "openrouter") for n in range(2)]
    found = expected(calls)  # type: ignore[arg-type]
    assert [one.forecast.read for one in found if one] == [0, 2000]
    assert found[0] is not None
    assert (found[0].rule.id, found[0].rule.best_effort) == ("openrouter/anthropic-2024-08", True)


def test_gemini_behind_a_router_is_not_renewed_by_reads() -> None:
    calls = [marked_chat(n, "google/gemini-2.5-flash", "openrouter", 200.0 * n) for n in range(3)]
    assert reads(calls) == [0, 0, 0]  # type: ignore[arg-type]  # 2,000 tokens: below 2,048
    content = [{"type": "text", "text": words(3000), "cache_control": {"type": "ephemeral"}}]
    body = {"model": "google/gemini-2.5-flash", "messages": [{"role": "user", "content": content}]}
    long = [call(body, n, api=Api.CHAT, provider="openrouter", at=200.0 * n) for n in range(3)]
    assert reads(long) == [0, 3000, 0]


def test_explicit_marks_and_implicit_caching_exclude_each_other_at_alibaba() -> None:
    marked = expected([marked_chat(0, "qwen3-max", "alibaba")])[0]  # type: ignore[list-item]
    plain = expected([chat(0, words(2000), provider="alibaba", model="qwen3-max")])[0]
    assert marked is not None
    assert plain is not None
    assert (marked.rule.id, plain.rule.id) == ("alibaba-explicit", "alibaba-implicit")


def test_an_entry_written_in_front_of_the_one_read_keeps_only_itself_alive() -> None:
    """The second call reads 1,000 tokens and writes a shorter entry of 600; reading that one leaves the longer to die."""
    first = call(blocks((10, "5m"), number=10), at=0)
    second = call(blocks((6, "5m"), (15, "5m"), number=15), at=100)
    third = call(blocks((6, "5m"), number=6), at=350)
    fourth = call(blocks((12, "5m"), number=12), at=450)
    assert reads([first, second, third, fourth]) == [0, 1000, 600, 600]


def test_reading_a_long_entry_does_not_bring_an_expired_shorter_one_back() -> None:
    """The 5-minute entry in front has its last use at 60 s; at 400 s the 1-hour one behind it is read."""
    calls = [call(blocks((10, "5m"), number=10), at=0), call(blocks((20, "1h"), number=20), at=60)]
    calls += [call(blocks((20, "1h"), number=20), at=400), call(blocks((10, "5m"), number=10), at=410)]
    assert reads(calls) == [0, 1000, 2000, 0]


@pytest.mark.parametrize(
    ("mark", "obstacle"), [(8, Obstacle.BEHIND_MARKS), (30, Obstacle.BEYOND_LOOKBACK)], ids=["in front", "too far"]
)
def test_what_stood_in_the_way_is_told_of_an_entry_that_lives(mark: int, obstacle: Obstacle) -> None:
    """Not of the longer one, which expired long before."""
    first, second = call(blocks((30, "5m"), number=30), at=0), call(blocks((10, "5m"), number=30), at=1000)
    found = expected([first, second, call(blocks((mark, "5m"), number=31), at=1060)])[2]
    assert found is not None
    assert found.blocked is not None
    assert (found.forecast.read, found.blocked.obstacle) == (0, obstacle)
    assert (found.blocked.tokens, found.blocked.longest) == (1000, 3000)


def test_marks_in_front_of_the_entry_are_misplaced_whatever_expired_before() -> None:
    bodies = [blocks((mark, "5m"), number=30) for mark in (30, 10, 8)]
    used = [usage(0, 0, 3000), usage(2000, 0, 1000), usage(2200, 0, 800)]
    calls = [call(body, at=at, used=one) for body, at, one in zip(bodies, (0, 1000, 1060), used, strict=True)]
    calls = [replace(one, id=f"c{number}") for number, one in enumerate(calls)]
    _, found = sorted(audit_calls(calls, Ingest(), AuditOptions()).breaks, key=lambda item: item.index)
    assert (found.cause, found.lost_tokens) == ("breakpoint.misplaced", 1000)


@pytest.mark.parametrize(
    ("named", "read"),
    [
        ({"speed": "standard"}, 2000),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}}, 2000),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, 0),
        ({"thinking": {"type": "disabled"}}, 2000),
        ({"speed": "fast"}, 0),
    ],
)
def test_naming_a_default_loses_nothing(named: dict[str, object], read: int) -> None:
    body = blocks((20, "5m"), number=20)
    assert reads([call(body, 0), call({**body, **named}, 1)]) == [0, read]
