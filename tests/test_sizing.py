"""Physical bytes term by term, the three capacities, the levers, and the seven questions of the checklist."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger.errors import UsageError
from hitledger_replay.dtypes import KV_DTYPES
from hitledger_replay.errors import ReplayError
from hitledger_replay.levers import combined, levers
from hitledger_replay.modelconfig import read_spec
from hitledger_replay.sizereport import SizeQuestion, size_report
from hitledger_replay.sizing import Layout, block_bytes, capacity, physical

BF16, FP8, INT8 = (KV_DTYPES[name] for name in ("bf16", "fp8", "int8"))
LLAMA = read_spec("llama-3.1-8b")


@given(
    st.integers(1, 5000), st.integers(1, 9), st.sampled_from([1, 8, 16, 256]), st.sampled_from(list(KV_DTYPES.values()))
)
def test_blocks_are_the_sum_of_their_terms(tokens: int, sequences: int, size: int, dtype: object) -> None:
    """live + rounding + scales and alignment = allocated blocks * bytes of a block, as a store would allocate them."""
    layout = Layout(size, alignment=512, workspace_bytes=7)
    parts = physical(LLAMA, tokens, sequences, dtype, layout)  # type: ignore[arg-type]
    stored = sequences * -(-tokens // size) * block_bytes(LLAMA, dtype, layout)  # type: ignore[arg-type]
    fixed = LLAMA.fixed_scale_bytes(dtype)  # type: ignore[arg-type]
    assert parts.live + parts.rounding + parts.scales_alignment == stored + fixed
    assert parts.live == sequences * tokens * LLAMA.bytes_per_token(dtype)  # type: ignore[arg-type]
    assert parts.rounding == sequences * (-tokens % size) * LLAMA.bytes_per_token(dtype)  # type: ignore[arg-type]
    assert parts.total == stored + fixed + parts.metadata + 7


def test_paging_does_not_change_live_bytes() -> None:
    assert {physical(LLAMA, 1000, 3, BF16, Layout(size)).live for size in (1, 2, 16, 64, 256)} == {3 * 1000 * 131_072}


def test_scales_and_alignment_by_hand() -> None:
    """int8: each of 32 layers holds 16 tokens of 8 heads: 2 * 128 bytes and two float32 scales."""
    assert block_bytes(LLAMA, INT8, Layout(16)) == 32 * 16 * 8 * (2 * 128 + 2 * 4)
    assert block_bytes(LLAMA, INT8, Layout(16, alignment=4096)) == 32 * 36_864  # 33,792 rounded up to 9 pages
    assert physical(LLAMA, 16, 1, FP8, Layout(16)).scales_alignment == 256


def test_three_capacities_by_hand() -> None:
    """1 GiB holds 8192 tokens; in blocks of 16 the null block is gone; 1 % is kept free and 4 sequences have tails."""
    room = capacity(LLAMA, 2**30, 1000, 4, BF16, Layout(16))
    assert room.theoretical_tokens == 8192
    assert room.allocatable_tokens == (512 - 1) * 16
    assert room.stable_tokens == (511 - 5 - 4) * 16
    assert (room.allocatable_sequences, room.stable_sequences) == (511 // 63, 506 // 63)


@given(st.integers(0, 2**36), st.integers(1, 9999), st.integers(1, 50))
def test_capacities_are_ordered(memory: int, tokens: int, sequences: int) -> None:
    room = capacity(LLAMA, memory, tokens, sequences, BF16, Layout(16))
    assert room.theoretical_tokens >= room.allocatable_tokens >= room.stable_tokens >= 0


def test_no_memory_left_is_an_error() -> None:
    with pytest.raises(ReplayError, match="leave no memory"):
        capacity(LLAMA, -1, 1, 1, BF16, Layout())


def test_levers_multiply() -> None:
    """Mistral 7B in fp8 at 16K tokens: a quarter of the heads, half the bytes, a quarter of the tokens, half of them off."""
    spec = read_spec("mistral-7b-v0.1")
    pulled = levers(spec, FP8, 16_384, device_share=0.5)
    assert [lever.factor for lever in pulled] == [0.25, 0.5, 0.25, 0.5]
    assert combined(pulled) == 1 / 64
    multi_head = 2 * 32 * 32 * 128 * 2 * 16_384
    assert combined(pulled[:3]) * multi_head == spec.payload_bytes(16_384, FP8)
    assert round(levers(read_spec("deepseek-v3"), BF16, 100)[0].factor, 4) == 0.0176


def test_report_of_a_rank() -> None:
    report = size_report(LLAMA, BF16, Layout(16), SizeQuestion(8192, 32, 16, memory_bytes=40 * 10**9))
    assert report["bytes_per_token"] == 131_072
    assert report["bytes_per_token_per_rank"] == [16_384] * 16
    assert report["bytes_per_token_all_ranks"] == 262_144
    assert report["logical_bytes"] == 32 * 2**30
    assert report["weight_bytes"] == -(-2 * 8_030_261_248 // 16)
    assert report["capacity"]["cache_bytes"] == 40 * 10**9 - report["weight_bytes"]


@pytest.mark.parametrize("memory", [None, 24 * 10**9, 500 * 10**9])
def test_the_seven_questions_are_answered(memory: int | None) -> None:
    checklist = size_report(LLAMA, FP8, Layout(16), SizeQuestion(8192, 32, memory_bytes=memory))["checklist"]
    names = {"state_kind", "scope", "dtype", "live_allocated_max", "hit_source", "oom_source", "evidence"}
    assert set(checklist) == names
    assert all(answer not in (None, "", [], {}) for answer in checklist.values())
    expected = {None: "unknown: no memory given", 24 * 10**9: "blocks: 32 sequences asked", 500 * 10**9: "none"}
    assert checklist["oom_source"].startswith(expected[memory])


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(UsageError, match="--weights"):
        size_report(read_spec("deepseek-v3"), BF16, Layout(), SizeQuestion(1, memory_bytes=10**12))
    with pytest.raises(UsageError, match="num_tokens"):
        SizeQuestion(0)
