"""Usage objects of every provider into disjoint classes, each expectation worked out by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger import usage as usage_module
from hitledger.types import CacheWrite, Usage
from hitledger.usage import read_usage, served_tier

SHAPES: dict[str, tuple[dict[str, Any], Usage]] = {
    "anthropic": (
        {
            "input_tokens": 3,
            "cache_creation_input_tokens": 7656,
            "cache_read_input_tokens": 14742,
            "cache_creation": {"ephemeral_5m_input_tokens": 7656, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 1,
            "service_tier": "standard",
        },
        Usage(3, 14742, (CacheWrite("5m", 7656),), 1),
    ),
    "anthropic, both lifetimes": (
        {
            "input_tokens": 1,
            "cache_creation_input_tokens": 30,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            "output_tokens": 2,
        },
        Usage(1, 0, (CacheWrite("1h", 20), CacheWrite("5m", 10)), 2),
    ),
    "openai chat": (
        {
            "prompt_tokens": 9126,
            "completion_tokens": 3197,
            "total_tokens": 12323,
            "prompt_tokens_details": {"cached_tokens": 4864, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 3000},
        },
        Usage(4262, 4864, None, 3197),
    ),
    "openai responses, both lifetimes": (
        {
            "input_tokens": 4020,
            "input_tokens_details": {
                "cached_tokens": 2000,
                "cache_write_tokens": 2012,
                "cache_write_tokens_details": {"ttl_30m_tokens": 12, "ttl_12h_tokens": 2000},
            },
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 4027,
        },
        Usage(8, 2000, (CacheWrite("12h", 2000), CacheWrite("30m", 12)), 7),
    ),
    "codex rollout": (
        {
            "input_tokens": 27299,
            "cached_input_tokens": 25952,
            "output_tokens": 217,
            "reasoning_output_tokens": 100,
            "total_tokens": 27516,
        },
        Usage(1347, 25952, None, 217),
    ),
    "deepseek": (
        {
            "prompt_tokens": 9027,
            "completion_tokens": 64,
            "total_tokens": 9091,
            "prompt_tokens_details": {"cached_tokens": 8896},
            "prompt_cache_hit_tokens": 8896,
            "prompt_cache_miss_tokens": 131,
        },
        Usage(131, 8896, None, 64),
    ),
    "deepseek without the total": (
        {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36, "completion_tokens": 2},
        Usage(36, 64, None, 2),
    ),
    "gemini": (
        {
            "promptTokenCount": 28393,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 40,
            "toolUsePromptTokenCount": 7,
            "totalTokenCount": 28443,
            "cachedContentTokenCount": 18000,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 28393}],
        },
        Usage(10400, 18000, None, 43),
    ),
    "gemini cli": (
        {"input": 125, "output": 450, "cached": 100, "thoughts": 200, "tool": 50, "total": 825},
        Usage(75, 100, None, 650),
    ),
    "bedrock converse": (
        {
            "inputTokens": 4,
            "outputTokens": 50,
            "cacheReadInputTokens": 100,
            "cacheWriteInputTokens": 18131,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 18000}, {"ttl": "5m", "inputTokens": 131}],
        },
        Usage(4, 100, (CacheWrite("1h", 18000), CacheWrite("5m", 131)), 50),
    ),
    "litellm in front of anthropic": (
        {
            "prompt_tokens": 3475,
            "completion_tokens": 95,
            "prompt_tokens_details": {"cached_tokens": 0},
            "cache_creation_input_tokens": 3471,
            "cache_read_input_tokens": 0,
        },
        Usage(4, 0, (CacheWrite("", 3471),), 95),
    ),
    "opentelemetry, inclusive by arithmetic": (
        {
            "gen_ai.usage.input_tokens": 130213,
            "gen_ai.usage.cache_read.input_tokens": 128955,
            "gen_ai.usage.cache_creation.input_tokens": 1253,
            "gen_ai.usage.output_tokens": 9,
        },
        Usage(5, 128955, (CacheWrite("", 1253),), 9),
    ),
    "opentelemetry, exclusive by arithmetic": (
        {"gen_ai.usage.input_tokens": "19", "gen_ai.usage.cache_read_input_tokens": "39000"},
        Usage(19, 39000, None, None),
    ),
    "pi": (
        {"input": 8, "output": 1211, "cacheRead": 89775, "cacheWrite": 611, "totalTokens": 91605},
        Usage(8, 89775, (CacheWrite("", 611),), 1211),
    ),
    "opencode": (
        {"input": 5230, "output": 180, "reasoning": 340, "cache": {"read": 12, "write": 5230}},
        Usage(5230, 12, (CacheWrite("", 5230),), 180),
    ),
    "kimi": (
        {"inputOther": 10982, "output": 75, "inputCacheRead": 1792, "inputCacheCreation": 0},
        Usage(10982, 1792, (), 75),
    ),
    "copilot": (
        {"inputTokens": 186809, "outputTokens": 2848, "cacheReadTokens": 151738, "cacheWriteTokens": 0},
        Usage(35071, 151738, (), 2848),
    ),
    "langsmith": (
        {"input_tokens": 90, "output_tokens": 9, "input_token_details": {"cache_read": 60, "cache_creation": 10}},
        Usage(20, 60, (CacheWrite("", 10),), 9),
    ),
    "vercel": (
        {"ai.usage.inputTokens": 90, "ai.usage.outputTokens": 9, "ai.usage.cachedInputTokens": 60},
        Usage(30, 60, None, 9),
    ),
    "langfuse, lifetimes in the names": (
        {"input": 5, "input_cache_read": 70, "input_cache_creation_5m": 3, "input_cache_creation_1h": 4, "total": 90},
        Usage(5, 70, (CacheWrite("1h", 4), CacheWrite("5m", 3)), None),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shape(shape: str) -> None:
    raw, expected = SHAPES[shape]
    assert read_usage(raw) == (expected, ())


def test_what_is_not_reported_is_none() -> None:
    assert read_usage({}) == (None, ())
    assert read_usage({"output_tokens": 5}) == (None, ("input_not_reported",))
    without, _ = read_usage({"prompt_tokens": 5000, "completion_tokens": 5})
    zero, _ = read_usage({"prompt_tokens": 5000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}})
    null, _ = read_usage({"prompt_tokens": 5000, "prompt_tokens_details": {"cached_tokens": None}})
    assert without == Usage(5000, None, None, 5)
    assert zero == Usage(5000, 0, None, 5)
    assert null == Usage(5000, None, None, None)


@pytest.mark.parametrize(
    ("raw", "expected", "notes"),
    [
        pytest.param(
            {"cache_creation_input_tokens": 1000, "cache_creation": {"ephemeral_1h_input_tokens": 400}},
            Usage(0, None, (CacheWrite("1h", 400), CacheWrite("", 600)), None),
            ("write_split_incomplete", "input_not_reported"),
            id="half a split loses nothing",
        ),
        pytest.param(
            {
                "input_tokens": 1,
                "cache_creation_input_tokens": 100,
                "cache_creation": {"ephemeral_1h_input_tokens": 400},
            },
            Usage(1, None, (CacheWrite("1h", 400),), None),
            ("write_split_exceeds_total",),
            id="a split larger than its total",
        ),
        pytest.param(
            {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 1024}, "completion_tokens": 0},
            Usage(0, 1024, None, 0),
            ("cache_read_exceeds_input",),
            id="cached over prompt",
        ),
        pytest.param(
            {"prompt_tokens": 1000, "cached_tokens": 600, "cache_write_tokens": 500},
            Usage(0, 600, (CacheWrite("", 400),), None),
            ("cache_parts_exceed_input",),
            id="parts over prompt",
        ),
        pytest.param(
            {"prompt_tokens": 10, "cached_tokens": 1024, "completion_tokens": 6, "total_tokens": 1040},
            Usage(10, 1024, None, 6),
            ("input_excludes_cache",),
            id="inclusive name, exclusive by its own total",
        ),
        pytest.param(
            {"input_tokens": -7000, "cache_read_input_tokens": 8000, "output_tokens": 5},
            Usage(1000, 8000, None, 5),
            ("negative_input",),
            id="net input",
        ),
        pytest.param(
            {"input_tokens": 10, "cache_read_input_tokens": -1, "output_tokens": -5},
            Usage(10, 0, None, 0),
            ("negative_read", "negative_output"),
            id="negative figures",
        ),
        pytest.param(
            {"prompt_tokens": 100, "cached_tokens": 60, "prompt_tokens_details": {"cached_tokens": 50}},
            Usage(40, 60, None, None),
            ("conflicting_read_figures",),
            id="two names, two figures",
        ),
        pytest.param(
            {"input_tokens": 5, "output_tokens": 1, "holo_tokens": 9, "cost_in_usd_ticks": 7},
            Usage(5, None, None, 1),
            ("unknown_usage_field:holo_tokens",),
            id="a token figure without a name we know",
        ),
        pytest.param(
            {"input_tokens": 5, "output_tokens": 10**13, "cache_read_input_tokens": 1.5},
            Usage(5, None, None, None),
            ("unreadable_usage:output_tokens", "unreadable_usage:cache_read_input_tokens"),
            id="no token count",
        ),
    ],
)
def test_what_had_to_be_mended_is_noted(raw: dict[str, Any], expected: Usage, notes: tuple[str, ...]) -> None:
    assert read_usage(raw) == (expected, notes)


def test_reader_decides_where_names_do_not() -> None:
    raw = {"inputTokens": 1000, "outputTokens": 1, "cacheReadTokens": 800, "cacheWriteTokens": 0}
    assert read_usage(raw, inclusive=True)[0] == Usage(200, 800, (), 1)
    assert read_usage(raw, inclusive=False)[0] == Usage(1000, 800, (), 1)


def test_logged_total_decides_before_arithmetic() -> None:
    raw = {"input_tokens": 1000, "output_tokens": 10, "input_tokens_cache_read": 800}
    assert read_usage(raw | {"total_tokens": 1810})[0] == Usage(1000, 800, None, 10)
    assert read_usage(raw | {"total_tokens": 1010})[0] == Usage(200, 800, None, 10)


def test_reasoning_counts_once() -> None:
    beside = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 20, "reasoning_tokens": 7}
    inside = beside | {"completion_tokens": 10}
    for raw in (beside, inside):
        usage, _ = read_usage(raw)
        assert usage is not None
        assert usage.output_tokens == 10


def test_server_tools_make_reads_add_up() -> None:
    raw = {"input_tokens": 1, "cache_read_input_tokens": 270000, "cache_creation_input_tokens": 0, "output_tokens": 5}
    ran, _ = read_usage(raw | {"server_tool_use": {"web_search_requests": 3}})
    idle, _ = read_usage(raw | {"server_tool_use": {"web_search_requests": 0}})
    rounds, _ = read_usage(raw | {"iterations": [{"type": "message"}, {"type": "message"}]})
    assert [u.read_accumulated for u in (ran, idle, rounds) if u] == [True, False, True]


def test_a_field_name_without_end_is_passed_over() -> None:
    assert read_usage({"input_tokens": 5, "tokens" * 50: 7, "x" * 101: {"cached_tokens": 3}}) == (
        Usage(5, None, None, None),
        (),
    )


def test_compaction_inside_a_call_is_noted() -> None:
    _, notes = read_usage({"input_tokens": 1, "iterations": [{"type": "compaction"}, {"type": "message"}]})
    assert notes == ("compaction_not_in_usage",)


@pytest.mark.parametrize(
    ("usage", "response", "tier"),
    [
        ({"service_tier": "standard", "inference_geo": "global"}, {}, ""),
        ({"service_tier": "priority", "speed": "fast", "inference_geo": "us"}, {}, "priority+fast+us"),
        ({"service_tier": "batch"}, {}, "batch"),
        ({}, {"service_tier": "flex"}, "flex"),
        ({}, {"service_tier": "default"}, ""),
        ({"speed": None, "service_tier": 3}, {"service_tier": "priority"}, "priority"),
    ],
)
def test_served_tier(usage: dict[str, Any], response: dict[str, Any], tier: str) -> None:
    assert served_tier(usage, response) == tier


figure = st.one_of(
    st.none(), st.integers(-5, 50), st.booleans(), st.just(10**14), st.floats(allow_nan=True), st.just("7x")
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": figure,
        "cache_read_input_tokens": figure,
        "cache_creation_input_tokens": figure,
        "output_tokens": figure,
        "cache_creation": st.dictionaries(
            st.sampled_from(["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "other"]), figure
        ),
        "server_tool_use": st.dictionaries(st.sampled_from(["web_search_requests"]), figure),
        "service_tier": st.sampled_from(["standard", None]),
    },
)


def test_the_plain_shape_of_messages_goes_the_short_way() -> None:
    raw = {"input_tokens": 3, "cache_read_input_tokens": 20_000, "cache_creation_input_tokens": 500, "output_tokens": 9}
    raw |= {"cache_creation": {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 0}}
    assert usage_module._messages_usage(raw) == Usage(3, 20_000, (CacheWrite("5m", 500),), 9)


@given(messages)
def test_short_way_for_messages_equals_the_long_one(raw: dict[str, Any]) -> None:
    short = usage_module._messages_usage(raw)
    if short is not None:
        whole, notes = read_usage(raw | {"x": 0})  # a key of no meaning forces the long way
        assert (whole, notes) == (short, ())


json_like = st.recursive(
    figure, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "input", "cached_tokens"]), inner)
)


@given(st.dictionaries(st.sampled_from(["prompt_tokens", "cache", "iterations", "cacheDetails", "total"]), json_like))
def test_any_object_is_read(raw: dict[str, Any]) -> None:
    usage, _ = read_usage(raw)
    if usage is not None:
        assert usage.uncached_input_tokens >= 0
        assert (usage.cache_read_tokens or 0) >= 0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_inclusive_and_exclusive_objects_agree(uncached: int, read: int, written: int, output: int) -> None:
    exclusive, _ = read_usage(
        {
            "input_tokens": uncached,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": output,
        }
    )
    inclusive, _ = read_usage(
        {
            "prompt_tokens": uncached + read + written,
            "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        }
    )
    assert exclusive == inclusive
    assert exclusive is not None
    assert exclusive.input_tokens == uncached + read + written
