"""Eviction policies: hand-made victims for each, and the pool's side of the protocol."""

from collections.abc import Callable

import pytest

from hitledger_replay.errors import OutOfBlocksError
from hitledger_replay.eviction import FIFO, LFU, LRU, S3FIFO, SLRU, EvictionPolicy, LeafLRU
from hitledger_replay.pool import BlockPool

POLICIES: dict[str, Callable[[], EvictionPolicy]] = {
    "lru": LRU,
    "fifo": FIFO,
    "lfu": LFU,
    "slru": lambda: SLRU(2),
    "s3-fifo": lambda: S3FIFO(10),
    "leaf-lru": lambda: LeafLRU(lambda content: None),
}


def use(pool: BlockPool, content: str) -> bool:
    """One access to one block of content; True for a hit."""
    found = pool.find(content)
    if found is not None:
        pool.share([found])
        pool.release([found])
        return True
    block = pool.allocate(1)[0]
    pool.publish(block, content)
    pool.release([block])
    return False


def left(policy: EvictionPolicy, accesses: str, capacity: int) -> set[object]:
    pool = BlockPool(capacity + 1, policy)
    for content in accesses:
        use(pool, content)
    return pool.contents()


@pytest.mark.parametrize(
    ("name", "accesses", "kept"),
    [
        ("lru", "abcad", "cad"),  # b is oldest
        ("fifo", "abcad", "bcd"),  # a came first, its second use does not matter
        ("lfu", "aabbcd", "abd"),  # c was used once; a and b twice
        ("lfu", "abcabd", "abd"),
        ("slru", "aabbcdc", "abc"),  # a, b protected; c, d push each other out
        ("slru", "aabbccd", "bcd"),  # three used twice, two protected: a fell back and went
        ("s3-fifo", "abcd", "bcd"),  # newcomers leave in order
        ("leaf-lru", "abcad", "cad"),
    ],
)
def test_what_is_left(name: str, accesses: str, kept: str) -> None:
    assert left(POLICIES[name](), accesses, 3) == set(kept)


def test_s3_fifo_keeps_what_a_scan_would_push_out_of_lru() -> None:
    scan = "".join(chr(ord("k") + i) for i in range(10))
    assert {"a", "b"} <= left(S3FIFO(5), "abababab" + scan, 5)
    assert not {"a", "b"} & left(LRU(), "abababab" + scan, 5)


def test_s3_fifo_ghost_enters_the_main_queue() -> None:
    """x leaves the small queue unused; when it returns its ghost is known and it outlives newcomers."""
    assert "x" in left(S3FIFO(5), "xabcdef" + "x" + "ghijk", 5)
    assert "x" not in left(FIFO(), "xabcdef" + "x" + "ghijk", 5)


def test_leaf_lru_never_evicts_a_parent_before_its_child() -> None:
    parents = {"ab": "a", "abc": "ab", "ad": "a"}
    pool = BlockPool(5, LeafLRU(parents.get))
    for content in ("a", "ab", "abc", "ad"):
        use(pool, content)
    use(pool, "x")
    assert pool.contents() == {"a", "ab", "ad", "x"}, "abc is the oldest leaf, a and ab are no leaves"
    use(pool, "y")
    assert pool.contents() == {"a", "ad", "x", "y"}, "ab became a leaf"


@pytest.mark.parametrize("name", POLICIES)
def test_the_pool_uses_the_policy_it_is_given(name: str) -> None:
    policy = POLICIES[name]()
    assert BlockPool(4, policy).policy is policy, "an empty policy is falsy and was once replaced by the default"


@pytest.mark.parametrize("name", POLICIES)
def test_blocks_in_use_are_never_victims(name: str) -> None:
    pool = BlockPool(5, POLICIES[name]())
    for content in "abcd":
        use(pool, content)
    held = [block for block in (pool.find("a"), pool.find("c")) if block is not None]
    pool.share(held)
    taken = pool.allocate(2)
    assert not set(held) & set(taken)
    with pytest.raises(OutOfBlocksError, match="0 of 5 are free"):
        pool.allocate(1)
    pool.release(taken)
    pool.release(held)
    pool.check_integrity([])
    assert len(list(pool.free_order())) == 4


@pytest.mark.parametrize("name", POLICIES)
def test_dropped_content_is_gone_and_its_block_free(name: str) -> None:
    pool = BlockPool(4, POLICIES[name]())
    use(pool, "a")
    use(pool, "b")
    assert pool.drop("a") == [1]
    assert pool.find("a") is None
    assert pool.drop("a") == []
    pool.check_integrity([])
    assert sorted(pool.free_order()) == [1, 2, 3]


def test_copies_of_one_content_are_kept_and_found_in_turn() -> None:
    """vLLM does not merge equal blocks: the first one stored answers until it is evicted."""
    pool = BlockPool(3)
    blocks = pool.allocate(2)
    for block in blocks:
        pool.publish(block, "same")
    assert pool.find("same") == 1
    pool.release(blocks)
    assert pool.allocate(1) == [2]
    assert pool.contents() == {"same"}
    pool.allocate(1)
    assert pool.contents() == set()
