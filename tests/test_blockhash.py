"""The content hash: what it covers, that nothing runs together, and that it is the same on every machine."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger_replay.blockhash import CacheIdentity, hash_block, hash_full_blocks, root_hash
from hitledger_replay.cache import PagedCache
from hitledger_replay.sequence import Sequence

BASE = CacheIdentity("m", "r1", "bf16", "rope 10000", "tok", "lora-a", "tenant")


def test_the_hash_is_fixed() -> None:
    """Computed once with hashlib over the documented bytes; a change of the format must be seen."""
    import hashlib

    def sized(payload: bytes) -> bytes:
        return len(payload).to_bytes(8, "little") + payload

    root = hashlib.sha256(b"hitledger.root" + b"".join(sized(part) for part in (b"m", *[b""] * 6))).digest()
    assert root_hash(CacheIdentity("m")) == root
    tokens = b"".join(token.to_bytes(8, "little", signed=True) for token in (1, 2, 300))
    assert hash_block(root, [1, 2, 300], ["image"]) == hashlib.sha256(root + sized(tokens) + sized(b"image")).digest()


@pytest.mark.parametrize("field", [field.name for field in fields(CacheIdentity)])
def test_every_identity_field_separates_caches_both_ways(field: str) -> None:
    other = replace(BASE, **{field: "other"})
    cache = PagedCache(32, 4)
    tokens = list(range(12))
    for first, second in ((BASE, other), (other, BASE)):
        cache.clear()
        seq = Sequence("a", tokens, root=root_hash(first), block_size=4)
        cache.admit(seq)
        cache.populate(seq, 12)
        cache.free(seq)
        assert cache.lookup(Sequence("b", tokens, root=root_hash(first), block_size=4)).num_cached_tokens == 8
        assert cache.lookup(Sequence("c", tokens, root=root_hash(second), block_size=4)).num_cached_tokens == 0


def test_extra_keys_separate_from_their_block_on() -> None:
    root = root_hash(BASE)
    plain = list(hash_full_blocks(root, range(12), 4))
    image = list(hash_full_blocks(root, range(12), 4, {1: ("image:abc",)}))
    assert [a == b for a, b in zip(plain, image, strict=True)] == [True, False, False]


def test_fields_do_not_run_together() -> None:
    assert root_hash(CacheIdentity("ab", "c")) != root_hash(CacheIdentity("a", "bc"))
    assert hash_block(b"p", [1], ["ab", "c"]) != hash_block(b"p", [1], ["a", "bc"])


@given(st.lists(st.integers(0, 200_000), min_size=4, max_size=40), st.data())
def test_one_changed_token_changes_its_block_and_all_behind(tokens: list[int], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(tokens) - 1))
    changed = [*tokens[:place], tokens[place] + 1, *tokens[place + 1 :]]
    root = root_hash(BASE)
    before, after = (list(hash_full_blocks(root, ids, 4)) for ids in (tokens, changed))
    assert len(before) == len(tokens) // 4
    assert [a == b for a, b in zip(before, after, strict=True)] == [i < place // 4 for i in range(len(before))]


def test_a_token_beyond_64_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        hash_block(b"", [1 << 63])
