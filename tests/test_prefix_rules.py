"""Caches that read the longest common prefix: engines and automatic caches. One word, or one id, is one token."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from call_builders import call
from hitledger.segments import Api, Layout
from hitledger.types import Call
from rule_builders import chat, expected, ids, reads, rule_named, words

SHARED, OTHER = tuple(range(10)), (90, 91, 92, 93)


def prompts(provider: str, *sequences: Sequence[int]) -> list[Call]:
    layout = Layout()
    return [ids(number, tokens, provider, layout) for number, tokens in enumerate(sequences)]


def fourteen_sharing_ten(provider: str) -> list[Call]:
    return prompts(provider, (*SHARED, 10, 11, 12, 13), (*SHARED, *OTHER))


def test_vllm_reads_eight_of_ten_shared_tokens_in_blocks_of_four() -> None:
    assert reads(fourteen_sharing_ten("vllm"), rule_named("vllm-v1", block=4)) == [0, 8]


def test_vllm_computes_the_last_token_and_with_it_its_block() -> None:
    same = tuple(range(32))
    assert reads(prompts("vllm", same, same)) == [0, 16]
    assert reads(prompts("vllm", same, (*same, 99))) == [0, 32]


@pytest.mark.parametrize(("page", "read"), [(1, 10), (4, 8), (16, 0)])
def test_sglang_reads_whole_pages(page: int, read: int) -> None:
    assert reads(fourteen_sharing_ten("sglang"), rule_named("sglang-radix", block=page)) == [0, read]


def test_tensorrt_copies_the_part_of_a_block_that_matches() -> None:
    calls = fourteen_sharing_ten("tensorrt_llm")
    assert reads(calls) == [0, 10]
    assert reads(calls, rule_named("tensorrt-llm-partial", partial_blocks=False, block=4)) == [0, 8]


def test_an_id_counts_only_whole() -> None:
    """1,2 and 1,23 share one id, not one and a digit."""
    assert reads(prompts("sglang", (1, 23, 5, 6), (1, 2, 5, 6), (1, 2, 5, 7))) == [0, 1, 3]


def test_the_best_of_several_earlier_prompts_counts() -> None:
    calls = prompts("sglang", (1, 2, 3, 4, 5, 6), (1, 2, 9, 9, 9, 9), (1, 2, 3, 4, 8, 8), (1, 2, 9, 9, 7, 7))
    assert reads(calls) == [0, 2, 4, 4]


def test_one_slot_forgets_what_another_conversation_took() -> None:
    a, b = tuple(range(20)), tuple(range(100, 120))
    calls = prompts("llama_cpp", a, b, (*a, 50), (*a, 50, 51))
    assert reads(calls, rule_named("llama-cpp-slots", valid_to=None)) == [0, 0, 0, 21]


def test_two_slots_hold_two_conversations() -> None:
    a, b = tuple(range(20)), tuple(range(100, 120))
    calls = prompts("llama_cpp", a, b, (*a, 50), (*b, 50))
    assert reads(calls, rule_named("llama-cpp-slots", slots=2, valid_to=None)) == [0, 0, 20, 20]


def test_host_memory_brings_a_prompt_back() -> None:
    a, b = tuple(range(20)), tuple(range(100, 120))
    calls = prompts("llama_cpp", a, b, (*a, 50), (*b, 50))
    assert reads(calls, rule_named("llama-cpp-host-memory", slots=1, valid_to=None)) == [0, 0, 20, 20]


def test_a_slot_computes_the_last_token_of_a_whole_match() -> None:
    same = tuple(range(20))
    assert reads(prompts("llama_cpp", same, same)) == [0, 19]


def test_a_prompt_that_shares_little_does_not_take_the_slot_that_another_needs() -> None:
    a = tuple(range(20))
    little = (0, *range(200, 219))  # one of 20: less than the tenth that is asked for
    calls = prompts("llama_cpp", a, little, (*a, 50))
    assert reads(calls, rule_named("llama-cpp-host-memory", host_memory=False, slots=2, valid_to=None)) == [0, 0, 20]


def test_a_prompt_that_keeps_half_of_a_slot_loses_the_rest_of_it() -> None:
    a = tuple(range(20))
    rules = rule_named("llama-cpp-host-memory", slots=1, valid_to=None)
    assert reads(prompts("llama_cpp", a, (*a[:10], *range(200, 210)), (*a, 50)), rules) == [0, 10, 10]
    assert reads(prompts("llama_cpp", a, (*a[:9], *range(200, 211)), (*a, 50)), rules) == [0, 9, 20]


def test_a_copy_moves_in_only_if_it_is_better_both_ways() -> None:
    """The slot holds 4 ids that are all used; 8 of the 20 in memory cover more, but less of them would be used."""
    a = tuple(range(20))
    calls = prompts("llama_cpp", a, tuple(range(100, 120)), a[:4], (*a[:8], *range(300, 400)))
    assert reads(calls, rule_named("llama-cpp-host-memory", slots=1, valid_to=None)) == [0, 0, 0, 4]


def test_idle_slots_are_emptied_into_memory() -> None:
    """Of the copy 4 of 20 ids would be used, too few to move in; the slot itself would have given them."""
    a, b = tuple(range(20)), tuple(range(100, 120))
    calls = prompts("llama_cpp", a, b, (*a[:4], *range(300, 309)))
    assert reads(calls) == [0, 0, 0]
    assert reads(calls, rule_named("llama-cpp-host-memory", valid_to=None)) == [0, 0, 4]


def test_deepseek_reads_a_prefix_only_once_two_requests_have_shown_it() -> None:
    """The documentation's A + B, A + C, A + D, in one message: 640 words of A."""
    texts = [f"{words(640, 'a')} {words(100, name)}" for name in "bcd"]
    calls = [chat(n, text, provider="deepseek", model="deepseek-v4-flash") for n, text in enumerate(texts)]
    found = reads(calls)
    assert found[:2] == [0, 0]
    assert found[2] is not None
    assert 576 <= found[2] <= 640  # a part of a text is counted by its length


def test_deepseek_units_of_whole_messages_are_exact() -> None:
    calls = [
        chat(n, words(100, name), provider="deepseek", model="deepseek-v4-pro", system=words(640, "a"))
        for n, name in enumerate("bcd")
    ]
    assert reads(calls) == [0, 0, 640]


def test_deepseek_reads_on_to_the_end_of_its_own_answer() -> None:
    first = chat(0, words(700), provider="deepseek", model="deepseek-v4-pro")
    second = chat(1, words(700), words(100, "answer"), words(5), provider="deepseek", model="deepseek-v4-pro")
    assert reads([first, second]) == [0, 768]  # 800 in steps of 64


def test_deepseek_read_any_prefix_before_v4() -> None:
    calls = [
        chat(n, words(100, name), provider="deepseek", model="deepseek-chat", system=words(640, "a"))
        for n, name in enumerate("bc")
    ]
    assert reads(calls, rule_named("deepseek-disk", valid_to=None)) == [0, 640]


OPENERS = (5000, 4992, 4864)  # whole, in steps of 16, 64 or 128, in steps of 256
PROVIDERS = [
    ("openai", "gpt-4o", 4992),
    ("openai", "gpt-5.5", 4992),
    ("openai", "gpt-6-sol", 5000),
    ("azure", "gpt-4o", 4992),
    ("azure", "gpt-5.6", 5000),
    ("azure", "deepseek-v4-pro", None),
    ("bedrock", "amazon.nova-pro-v1:0", 5000),
    ("bedrock", "us.anthropic.claude-sonnet-4-6-v1:0", 5000),
    ("bedrock", "openai.gpt-5.6-sol", 5000),
    ("vertex", "gemini-2.5-pro", 5000),
    ("google", "gemini-2.5-flash", 5000),
    ("google", "gemini-4-argon", 5000),
    ("deepseek", "deepseek-v4-flash", 4992),
    ("xai", "grok-4.6", 4992),
    ("moonshot", "kimi-k3", 4864),
    ("moonshot", "kimi-k2", 4864),
    ("alibaba", "qwen3-max", 5000),
    ("zai", "glm-5.2", 5000),
    ("minimax", "MiniMax-M3", 5000),
    ("mistral", "mistral-large", 5000),
    ("groq", "moonshotai/kimi-k2-instruct", 5000),
    ("groq", "llama-3.3-70b", None),
    ("fireworks", "accounts/fireworks/models/glm-5", 5000),
    ("together", "llama-4", 5000),
    ("openrouter", "openai/gpt-5.6", 5000),
    ("openrouter", "google/gemini-2.5-flash", 5000),
    ("openrouter", "deepseek/deepseek-v4-pro", 4992),
    ("vllm", "m", 4992),
    ("sglang", "m", 5000),
    ("tensorrt_llm", "m", 5000),
    ("llama_cpp", "m", 5000),
    ("tgi", "m", 5000),
    ("cohere", "command", None),
]


@pytest.mark.parametrize(("provider", "model", "read"), PROVIDERS)
def test_each_provider_reads_the_first_prompt_in_the_second(provider: str, model: str, read: int | None) -> None:
    """5,000 words, then the same and another question, in November 2026, one minute apart."""
    system = words(4990, "s")
    november = 89 * 86400.0
    calls = []
    for number, texts in enumerate(((words(10),), (words(10), words(10, "q")))):
        turns = [{"role": "user", "content": text} for text in texts]
        body = {"model": model, "messages": [{"role": "system", "content": system}, *turns]}
        calls.append(call(body, number, api=Api.CHAT, provider=provider, at=november + 60 * number))
    assert reads(calls) == ([None, None] if read is None else [0, read])


def test_marked_prompts_at_each_provider_of_claude() -> None:
    for provider in ("anthropic", "bedrock", "vertex", "azure", "openrouter"):
        content = [{"type": "text", "text": words(5000), "cache_control": {"type": "ephemeral"}}]
        body = {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": content}]}
        assert reads([call(body, n, provider=provider) for n in range(2)]) == [0, 5000]


def test_minimax_lays_the_system_prompt_before_the_tools() -> None:
    def body(tool: str) -> dict[str, Any]:
        tools = [{"type": "function", "function": {"name": tool, "parameters": {}}}]
        turns = [{"role": "system", "content": words(900)}, {"role": "user", "content": "q"}]
        return {"model": "MiniMax-M3", "messages": turns, "tools": tools}

    calls = [call(body(tool), n, api=Api.CHAT, provider="minimax") for n, tool in enumerate(("one", "two"))]
    found = reads(calls)[1]
    assert found is not None
    assert 900 <= found < 905


def test_another_salted_parameter_or_route_meets_another_cache() -> None:
    first = chat(0, words(3000), provider="openai", model="gpt-4o")
    other = chat(1, words(3000), provider="openai", model="gpt-4o", prompt_cache_key="other")
    json = chat(1, words(3000), provider="openai", model="gpt-4o", response_format={"type": "json_object"})
    assert reads([first, other]) == [0, 0]
    assert reads([first, json]) == [0, 0]


def test_best_effort_providers_promise_no_read() -> None:
    found = expected([chat(0, words(3000), provider="xai", model="grok-4.6")])[0]
    assert found is not None
    assert found.rule.best_effort


@settings(deadline=None)
@given(turns=st.integers(1, 12), step=st.integers(1, 5), head=st.integers(0, 5))
@pytest.mark.parametrize("name", ["sglang-radix", "vllm-v1", "tensorrt-llm-partial"])
def test_append_only_sessions_hit_t_minus_1_over_t_plus_1(name: str, turns: int, step: int, head: int) -> None:
    """Each turn adds one step to a system prompt of `head` steps, at block size 1: a closed form for the hit rate.

    Without a system prompt it is (T - 1) / (T + 1); with S steps, [(T - 1) S + T (T - 1) / 2] / [T S + T (T + 1) / 2].
    """
    rules = rule_named(name, block=1)
    sequences = [range((head + turn) * step) for turn in range(1, turns + 1)]
    calls = prompts(rules.all[0].provider, *sequences)
    read = sum(tokens or 0 for tokens in reads(calls, rules))
    sent = sum(len(sequence) for sequence in sequences)
    first, rest = turns * (turns - 1) // 2, turns * (turns + 1) // 2
    assert read * (turns * head + rest) == sent * ((turns - 1) * head + first)
    if head == 0:
        assert read * (turns + 1) == sent * (turns - 1)
