"""Attention by parts: merged answers equal one softmax over all keys, for every split, size and empty or masked part."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hitledger_replay.engine.attention.masks import visible
from hitledger_replay.engine.attention.merge import PartialAttention, attend_part, kernel_takes
from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.attention.tiled import TiledAttention
from hitledger_replay.engine.batch import PackedBatch, Part

CPU = torch.device("cpu")


def one_softmax(scores: torch.Tensor, value: torch.Tensor) -> PartialAttention:
    """By the definition: scores (heads, Q, K), value (heads, K, dim). A row without a key has output 0."""
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    return PartialAttention(weights @ value, torch.logsumexp(scores, -1))


def random(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def test_two_keys_by_hand() -> None:
    """Weights e^0 and e^ln3 are 1 and 3: a quarter of 8 and three quarters of 16."""
    first = PartialAttention(torch.tensor([[[8.0]]]), torch.tensor([[0.0]]))
    second = PartialAttention(torch.tensor([[[16.0]]]), torch.tensor([[3.0]]).log())
    both = first.merged(second)
    assert both.output.item() == pytest.approx(14.0)
    assert both.logsumexp.exp().item() == pytest.approx(4.0)


@settings(max_examples=150, deadline=None)
@given(
    heads=st.integers(1, 3),
    queries=st.integers(1, 5),
    parts=st.lists(st.integers(0, 6), min_size=2, max_size=4),
    size=st.sampled_from([1e-6, 1.0, 30.0, 1e4]),
    offset=st.sampled_from([-1e5, 0.0, 1e5]),
    hidden=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 99),
)
def test_parts_in_any_number_and_order_equal_one_softmax(
    heads: int, queries: int, parts: list[int], size: float, offset: float, hidden: float, seed: int
) -> None:
    """Empty parts, rows without a key in some or all parts, scores near 0 and far beyond what exp can hold."""
    keys = sum(parts)
    scores = size * random(heads, queries, keys, seed=seed) + offset
    scores = scores.masked_fill(
        torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed)) < hidden, -torch.inf
    )
    value = random(heads, keys, 4, seed=seed + 1)
    pieces = [one_softmax(s, v) for s, v in zip(scores.split(parts, 2), value.split(parts, 1), strict=True)]
    wanted = one_softmax(scores, value)
    for order in (pieces, pieces[::-1]):
        found = order[0]
        for piece in order[1:]:
            found = found.merged(piece)
        torch.testing.assert_close(found.output, wanted.output, atol=1e-9, rtol=0)
        torch.testing.assert_close(found.logsumexp, wanted.logsumexp, atol=0, rtol=1e-12)


TOLERANCE = {torch.float64: 1e-12, torch.float32: 3e-5, torch.bfloat16: 2e-2}


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(list(TOLERANCE)),
    kv_heads=st.integers(1, 2),
    groups=st.integers(1, 3),
    past=st.integers(0, 40),
    queries=st.integers(1, 40),
    size=st.sampled_from([0.01, 1.0, 20.0]),
)
def test_prefix_and_suffix_equal_one_causal_softmax(
    dtype: torch.dtype, kv_heads: int, groups: int, past: int, queries: int, size: float
) -> None:
    """The engine's tile: every query sees the prefix, the suffix is causal. The oracle computes in float64."""
    heads, keys = kv_heads * groups, past + queries
    query = (size * random(heads, queries, 8, seed=queries)).to(dtype)
    key, value = (random(kv_heads, keys, 8, seed=past + n).to(dtype) for n in range(2))
    found = attend_part(query, key[:, past:], value[:, past:], 0.5, causal=True)
    if past:
        found = found.merged(attend_part(query, key[:, :past], value[:, :past], 0.5))
    scores = 0.5 * query.double() @ key.double().repeat_interleave(groups, 0).mT
    scores = scores.masked_fill(~visible(queries, keys, past, None, CPU), -torch.inf)
    wanted = one_softmax(scores, value.double().repeat_interleave(groups, 0))
    assert found.output.dtype is dtype
    torch.testing.assert_close(found.output.double(), wanted.output, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    near = {torch.float64: 1e-12}.get(dtype, 2e-4)
    torch.testing.assert_close(found.logsumexp.double(), wanted.logsumexp, atol=near, rtol=near)


def test_a_key_that_is_not_stored_as_rows_is_read_right() -> None:
    """The kernel takes the last dimension as consecutive, whatever its stride says."""
    query, key, value = (random(2, 5, 8, seed=n, dtype=torch.float32) for n in range(3))
    columns = [tensor.mT.contiguous().mT for tensor in (query, key, value)]
    assert columns[0].stride(-1) == 5
    wanted = attend_part(query, key, value, 0.3)
    found = attend_part(*columns, 0.3)
    assert torch.equal(found.output, wanted.output)


def test_values_of_another_width_are_left_to_the_mask() -> None:
    query, value = random(2, 3, 8, seed=0), random(2, 7, 5, seed=1)
    assert not kernel_takes(query, value)
    assert kernel_takes(query, query)
    assert not kernel_takes(query.to("meta"), query.to("meta"))
    key = random(2, 7, 8, seed=2)
    batch = PackedBatch(*[torch.zeros(0)] * 6, parts=(Part(0, 3, 0, 7),), block_tables=((1,),))
    wanted = ReferenceAttention().attend(query, key, value, batch, Rule(0.5))
    torch.testing.assert_close(TiledAttention(2).attend(query, key, value, batch, Rule(0.5)), wanted)
