"""The paged cache: vLLM's orders, the n-1 cap, copy-on-write, preemption, tiers and the reason for every miss.

The golden orders are those vLLM's own `tests/v1/core/test_prefix_caching.py` expects (scenarios re-expressed).
"""

import pytest

from hitledger_replay.admission import PreemptMode
from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.cache import PagedCache
from hitledger_replay.errors import IllegalTransitionError, OutOfBlocksError, OutOfSwapError
from hitledger_replay.misses import EvictionHistory, MissReason, missed_tokens
from hitledger_replay.moves import CopyBlock, LoadBlock, OffloadBlock, SwapIn, SwapOut, Tier
from hitledger_replay.sequence import Sequence, SequenceState
from hitledger_replay.tiers import TierStack

ROOT_HASH = root_hash(CacheIdentity("toy"))


def sequence(seq_id: str, tokens: list[int], block_size: int = 16) -> Sequence:
    return Sequence(seq_id, tokens, root=ROOT_HASH, block_size=block_size)


def run(cache: PagedCache, seq_id: str, tokens: list[int]) -> Sequence:
    """Admit and compute a whole prompt."""
    seq = sequence(seq_id, tokens, cache.block_size)
    cache.admit(seq)
    cache.take_moves()
    cache.populate(seq, len(seq) - seq.num_computed_tokens)
    return seq


def test_vllm_prefill_order() -> None:
    cache = PagedCache(11)
    common = [t for i in range(3) for t in [i] * 16]
    first = run(cache, "0", common + [3] * 7)
    assert (first.num_cached_tokens, first.block_table) == (0, [1, 2, 3, 4])
    second = run(cache, "1", common + [4] * 5)
    assert (second.num_cached_tokens, second.block_table) == (48, [1, 2, 3, 5])
    assert [cache.pool.ref_count[block] for block in (1, 2, 3, 4, 5)] == [2, 2, 2, 1, 1]
    cache.free(first)
    cache.free(second)
    assert list(cache.pool.free_order()) == [5, 4, 6, 7, 8, 9, 10, 3, 2, 1]
    third = run(cache, "2", common + [5] * 6)
    assert third.block_table == [1, 2, 3, 5]
    cache.free(third)
    assert list(cache.pool.free_order()) == [5, 4, 6, 7, 8, 9, 10, 3, 2, 1]
    fourth = run(cache, "3", [99] * 160)
    assert fourth.block_table == [5, 4, 6, 7, 8, 9, 10, 3, 2, 1]
    assert cache.pool.num_free_blocks == 0


def test_vllm_evict_order() -> None:
    cache = PagedCache(11)
    first = run(cache, "0", list(range(87)))
    second = run(cache, "1", list(range(87, 135)))
    assert (first.block_table, second.block_table) == ([1, 2, 3, 4, 5, 6], [7, 8, 9])
    cache.free(first)
    assert list(cache.pool.free_order()) == [6, 10, 5, 4, 3, 2, 1]
    cache.free(second)
    assert list(cache.pool.free_order()) == [6, 10, 5, 4, 3, 2, 1, 9, 8, 7]
    third = run(cache, "2", list(range(35)))
    assert (third.num_cached_tokens, third.block_table) == (32, [1, 2, 6])


def test_vllm_hit_is_never_evicted_by_its_own_allocation() -> None:
    cache = PagedCache(3)
    cache.free(run(cache, "0", [0] * 16))
    cache.free(run(cache, "1", [1] * 16))
    assert list(cache.pool.free_order()) == [1, 2]
    third = run(cache, "2", [0] * 16 + [2] * 16)
    assert third.block_table == [1, 2]


def test_block_table_and_slots_of_the_source() -> None:
    seq = sequence("a", list(range(40)))
    seq.block_table = [7, 2, 15]
    assert seq.slot_mapping(33, 34) == [15 * 16 + 1]
    assert seq.slot_mapping(14, 18) == [7 * 16 + 14, 7 * 16 + 15, 2 * 16, 2 * 16 + 1]


@pytest.mark.parametrize(("num_tokens", "hit"), [(47, 32), (48, 32), (49, 48), (15, 0), (16, 0), (17, 16)])
def test_last_token_is_always_computed(num_tokens: int, hit: int) -> None:
    cache = PagedCache(32)
    cache.free(run(cache, "a", list(range(100))))
    found = cache.lookup(sequence("b", list(range(num_tokens))))
    assert found.num_cached_tokens == hit
    expected = {}
    if num_tokens % 16 == 0:
        expected[MissReason.LAST_TOKEN_CAP] = 16
    elif num_tokens % 16:
        expected[MissReason.PARTIAL_BLOCK] = num_tokens % 16
    assert missed_tokens(found.misses) == expected


def test_shared_prefix_takes_four_blocks_not_six() -> None:
    cache = PagedCache(8)
    shared = list(range(32))
    a, b = run(cache, "a", [*shared, 100]), run(cache, "b", [*shared, 200])
    assert a.block_table[:2] == b.block_table[:2]
    assert [cache.pool.ref_count[block] for block in (*a.block_table, b.block_table[2])] == [2, 2, 1, 1]
    assert len({*a.block_table, *b.block_table}) == 4


@pytest.mark.parametrize("offset", range(16))
def test_fork_copies_one_block_only_inside_a_block(offset: int) -> None:
    cache = PagedCache(16)
    parent = run(cache, "a", list(range(32 + offset)))
    before = list(parent.block_table)
    child = cache.fork(parent, "b")
    cache.append(child, 7)
    cache.append(parent, 8)
    copies = [move for move in cache.take_moves() if isinstance(move, CopyBlock)]
    assert len(copies) == cache.stats.num_copies == (1 if offset else 0)
    assert parent.block_table[: len(before)] == before
    assert child.block_table[:2] == before[:2]
    assert child.block_table[2] != parent.block_table[2]
    cache.pool.check_integrity([parent.block_table, child.block_table])


def test_failed_admission_changes_nothing() -> None:
    cache = PagedCache(4)
    kept = run(cache, "a", list(range(20)))
    order = list(cache.pool.free_order())
    big = sequence("b", list(range(100)))
    with pytest.raises(OutOfBlocksError):
        cache.admit(big)
    assert (big.state, big.block_table, list(cache.pool.free_order())) == (SequenceState.WAITING, [], order)
    assert (cache.stats.queries, cache.stats.hits) == (20, 0)
    cache.append(kept, 1)
    cache.pool.check_integrity([kept.block_table])


def test_failed_append_adds_no_token() -> None:
    cache = PagedCache(2)
    seq = run(cache, "a", list(range(16)))
    with pytest.raises(OutOfBlocksError):
        cache.append(seq, 1)
    assert len(seq) == 16


def test_reasons_sum_to_the_prompt_minus_the_hit() -> None:
    cache = PagedCache(6, block_size=4)
    cache.free(run(cache, "a", list(range(12))))
    cache.free(run(cache, "b", list(range(100, 112))))
    found = cache.lookup(sequence("c", [*range(12), *range(50, 55), 1], 4))
    assert found.num_cached_tokens == 8
    assert missed_tokens(found.misses) == {
        MissReason.EVICTED: 4,
        MissReason.NEVER_SEEN: 4,
        MissReason.PARTIAL_BLOCK: 2,
    }
    eviction = found.misses[0].eviction
    assert eviction is not None
    assert (eviction.step, eviction.by, eviction.policy) == (2, "b", "lru")


def test_the_memory_of_evictions_is_bounded_and_ends_when_a_block_comes_back() -> None:
    history = EvictionHistory(limit=2)
    cache = PagedCache(6, block_size=4, evictions=history)
    cache.free(run(cache, "a", list(range(12))))
    cache.free(run(cache, "b", list(range(100, 120))))
    assert len(history) == 2, "three blocks of a went, the last one first"
    reasons = missed_tokens(cache.lookup(sequence("c", [*range(12), 1], 4)).misses)
    assert reasons == {MissReason.EVICTED: 8, MissReason.NEVER_SEEN: 4, MissReason.PARTIAL_BLOCK: 1}
    cache.free(run(cache, "d", list(range(12))))
    assert len(history) == 2
    assert missed_tokens(cache.lookup(sequence("e", list(range(100, 120)), 4)).misses)[MissReason.EVICTED] == 8


def test_a_block_being_computed_is_in_flight() -> None:
    cache = PagedCache(16, block_size=4)
    first = sequence("a", list(range(12)), 4)
    cache.admit(first)
    second = sequence("b", list(range(12)), 4)
    assert missed_tokens(cache.lookup(second).misses) == {MissReason.IN_FLIGHT: 12}
    cache.populate(first, 8)
    assert missed_tokens(cache.lookup(second).misses) == {MissReason.IN_FLIGHT: 4}
    cache.free(first)
    assert missed_tokens(cache.lookup(second).misses) == {MissReason.NEVER_SEEN: 4}


def test_recomputation_after_preemption_is_no_hit() -> None:
    cache = PagedCache(16)
    seq = run(cache, "a", list(range(50)))
    cache.preempt(seq)
    cache.admit(seq)
    assert seq.num_computed_tokens == 48
    assert (seq.num_cached_tokens, cache.stats.hits, cache.stats.preempted_hits) == (0, 0, 48)


def test_decode_reads_are_no_hits() -> None:
    cache = PagedCache(16)
    seq = run(cache, "a", [1, 2, 3])
    for token in (4, 5):
        cache.append(seq, token)
        cache.populate(seq, 1)
    assert (cache.stats.hits, cache.stats.decode_read_tokens) == (0, 4 + 5)


def test_swap_brings_back_what_left_the_device() -> None:
    cache = PagedCache(4, block_size=4, swap_blocks=3)
    seq = run(cache, "a", list(range(10)))
    table = list(seq.block_table)
    cache.preempt(seq, PreemptMode.SWAP)
    assert cache.take_moves() == tuple(SwapOut("a", i, block) for i, block in enumerate(table))
    cache.free(run(cache, "b", list(range(50, 58))))
    cache.take_moves()
    cache.admit(seq)
    swapped_in = [move for move in cache.take_moves() if isinstance(move, SwapIn)]
    assert [move.index for move in swapped_in] == [1, 2]
    assert (seq.num_computed_tokens, cache.num_swapped_blocks) == (10, 0)
    cache.free(seq)
    assert cache.pool.num_free_blocks == 3


def test_swap_space_is_bounded() -> None:
    cache = PagedCache(4, block_size=4, swap_blocks=2)
    seq = run(cache, "a", list(range(10)))
    with pytest.raises(OutOfSwapError, match="2 blocks of swap space"):
        cache.preempt(seq, PreemptMode.SWAP)
    assert seq.state is SequenceState.RUNNING


def test_offloaded_blocks_are_loaded_again() -> None:
    cache = PagedCache(4, block_size=4, tiers=TierStack(host_blocks=2, disk_blocks=2))
    cache.free(run(cache, "a", list(range(12))))
    other = sequence("b", list(range(50, 62)), 4)
    cache.admit(other)
    offloads = [move for move in cache.take_moves() if isinstance(move, OffloadBlock)]
    assert [(move.block_id, move.tier) for move in offloads] == [(3, Tier.HOST), (2, Tier.HOST), (1, Tier.HOST)]
    cache.populate(other, 12)
    cache.free(other)
    again = sequence("c", list(range(13)), 4)
    assert missed_tokens(cache.lookup(again, load=False).misses) == {
        MissReason.ON_HOST: 8,
        MissReason.ON_DISK: 4,
        MissReason.PARTIAL_BLOCK: 1,
    }
    with pytest.raises(OutOfBlocksError):
        cache.admit(again)
    shorter = sequence("d", list(range(12)), 4)
    assert cache.admit(shorter).hit_blocks(Tier.HOST) == 2
    assert missed_tokens(cache.lookup(again).misses) == {
        MissReason.MIGRATING: 8,
        MissReason.IN_FLIGHT: 4,
        MissReason.PARTIAL_BLOCK: 1,
    }
    loads = [move for move in cache.take_moves() if isinstance(move, LoadBlock)]
    assert [move.block_id for move in loads] == shorter.block_table[:2]
    assert cache.lookup(again, load=False).num_cached_tokens == 8


def test_illegal_steps_raise() -> None:
    cache = PagedCache(8)
    seq = sequence("a", [1, 2])
    with pytest.raises(IllegalTransitionError, match="waiting"):
        cache.populate(seq, 1)
    cache.admit(seq)
    for step in (lambda: cache.admit(seq), lambda: cache.populate(seq, 15), lambda: cache.fork(seq, "b")):
        with pytest.raises(IllegalTransitionError):
            step()
    cache.free(seq)
    for step in (lambda: cache.free(seq), lambda: cache.append(seq, 3), lambda: cache.preempt(seq)):
        with pytest.raises(IllegalTransitionError):
            step()
