"""The pool against an oracle that shares no code with it, and flat against leaf eviction, on random sessions."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.cache import PagedCache
from hitledger_replay.oracle import Oracle
from hitledger_replay.sequence import Sequence

ROOT = root_hash(CacheIdentity("m"))
Request = tuple[list[int], list[int]]
REQUESTS = st.lists(
    st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=20), st.lists(st.integers(0, 1), max_size=4)),
    min_size=1,
    max_size=25,
)


def pool_hits(requests: list[Request], block_size: int, capacity: int) -> list[int]:
    cache = PagedCache(capacity + 1, block_size)
    hits = []
    for number, (prompt, generated) in enumerate(requests):
        seq = Sequence(str(number), prompt, root=ROOT, block_size=block_size)
        hits.append(cache.admit(seq).num_cached_tokens)
        cache.populate(seq, len(seq) - seq.num_computed_tokens)
        for token in generated:
            cache.append(seq, token)
            cache.populate(seq, 1)
        cache.free(seq)
        cache.pool.check_integrity([])
    return hits


@settings(deadline=None, max_examples=300)
@given(REQUESTS, st.integers(1, 4), st.integers(0, 20))
def test_pool_equals_oracle(requests: list[Request], block_size: int, spare: int) -> None:
    largest = max(-(-len(prompt + generated) // block_size) for prompt, generated in requests)
    oracle = Oracle(block_size, largest + spare)
    assert pool_hits(requests, block_size, largest + spare) == [oracle.run(*request) for request in requests]


@settings(deadline=None)
@given(REQUESTS, st.integers(1, 4))
def test_more_room_never_finds_less(requests: list[Request], block_size: int) -> None:
    largest = max(-(-len(prompt + generated) // block_size) for prompt, generated in requests)
    sums = [sum(pool_hits(requests, block_size, largest + spare)) for spare in (0, 3, 9, 500)]
    unlimited = Oracle(block_size)
    assert sums[-1] == sum(unlimited.run(*request) for request in requests)
    assert sums[0] <= sums[-1]


@pytest.mark.parametrize(("num_tokens", "hit"), [(7, 4), (8, 4), (9, 8), (3, 0), (4, 0), (5, 4)])
def test_cap(num_tokens: int, hit: int) -> None:
    oracle = Oracle(4)
    oracle.run(list(range(20)))
    assert oracle.expected_hit(list(range(num_tokens))) == hit


def test_generated_tokens_are_found_by_the_next_turn() -> None:
    oracle = Oracle(4)
    oracle.run([1, 2, 3], [4, 5])
    assert oracle.run([1, 2, 3, 4, 5, 6]) == 4


def test_control_forward_release_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeing a sequence front to back evicts parents before children; the oracle must notice."""
    from hitledger_replay.pool import BlockPool

    requests: list[Request] = [([1] * 12, []), ([2] * 8, []), ([1] * 12, [])]
    oracle = Oracle(4, 4)
    expected = [oracle.run(*request) for request in requests]
    assert pool_hits(requests, 4, 4) == expected
    real = BlockPool.release
    monkeypatch.setattr(BlockPool, "release", lambda pool, blocks: real(pool, list(reversed(blocks))))
    assert pool_hits(requests, 4, 4) != expected


def test_a_sequence_larger_than_the_oracle_is_refused() -> None:
    with pytest.raises(ValueError, match="5 blocks"):
        Oracle(4, 4).run(list(range(17)))
