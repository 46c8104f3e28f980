"""The token-exact index: against plain comparison of all pairs, and what whole blocks lose."""

import hypothesis.strategies as st
from hypothesis import given

from hitledger_replay.oracle import Oracle
from hitledger_replay.radix import RadixIndex

PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=16), min_size=1, max_size=20)


def common(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(PROMPTS)
def test_match_is_the_longest_common_prefix_with_any_earlier_prompt(prompts: list[list[int]]) -> None:
    index = RadixIndex()
    for number, prompt in enumerate(prompts):
        expected = max((common(prompt, other) for other in prompts[:number]), default=0)
        assert index.match(prompt) == expected
        assert index.insert(prompt) == expected
    distinct = {tuple(prompt[: i + 1]) for prompt in prompts for i in range(len(prompt))}
    assert index.num_tokens == len(distinct)


@given(PROMPTS, st.integers(2, 5))
def test_blocks_find_no_more_than_tokens_and_lose_less_than_a_block_and_the_last(
    prompts: list[list[int]], size: int
) -> None:
    index, oracle = RadixIndex(), Oracle(size)
    for prompt in prompts:
        tokens, blocks = index.insert(prompt), oracle.run(prompt)
        assert blocks == min(tokens, len(prompt) - 1) // size * size


@given(PROMPTS, st.integers(1, 30))
def test_capacity_holds(prompts: list[list[int]], capacity: int) -> None:
    index = RadixIndex(capacity)
    for prompt in prompts:
        index.insert(prompt)
        assert index.num_tokens <= max(capacity, len(prompt))
        assert index.match(prompt) >= min(len(prompt), capacity) or index.num_tokens <= capacity


def test_oldest_leaf_goes_first() -> None:
    index = RadixIndex(8)
    for prompt in ([1, 2, 3, 4], [1, 2, 5, 6], [7, 8]):
        index.insert(prompt)
    assert index.num_tokens == 8
    index.insert([9, 9])
    assert (index.match([1, 2, 3, 4]), index.match([1, 2, 5, 6]), index.match([7, 8])) == (2, 4, 2)


def test_shared_prefix_below_a_block_is_lost_to_blocks() -> None:
    """A shared prompt of 240 tokens is worth nothing in blocks of 784 (vLLM #54607)."""
    shared = list(range(240))
    index, oracle = RadixIndex(), Oracle(784)
    for tail in (1, 2):
        prompt = [*shared, *[1000 * tail + i for i in range(760)]]
        found = index.insert(prompt), oracle.run(prompt)
    assert found == (240, 0)
