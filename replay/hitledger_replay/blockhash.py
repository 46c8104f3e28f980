"""The content hash of a KV block: what must be equal for two blocks to hold the same keys and values.

A block is reusable only if every token in front of it is the same too, so each hash covers its parent's hash
(vLLM 0.33 `v1/core/kv_cache_utils.py`, SGLang page hashes, llm-d `kv-cache-manager`: all chain the same way).
The root of the chain covers everything else that shapes keys and values: two requests that differ in any field of
`CacheIdentity` share nothing. All input is hashed with its length in front, so no two different inputs run together.
"""

import hashlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from sys import byteorder

BlockHash = bytes


@dataclass(frozen=True, slots=True)
class CacheIdentity:
    """All that keys and values depend on besides the tokens. Equal text under another field is another cache."""

    model: str
    revision: str = ""
    dtype: str = ""
    position_rule: str = ""
    """RoPE base, scaling and the like, written out in any stable form."""
    tokenizer: str = ""
    adapter: str = ""
    """Name and version of a LoRA adapter."""
    salt: str = ""
    """Keeps tenants apart on purpose (vLLM's `cache_salt`)."""


def root_hash(identity: CacheIdentity) -> BlockHash:
    """The parent of every first block under this identity (32 bytes)."""
    digest = hashlib.sha256(b"hitledger.root")
    for text in astuple(identity):
        _update(digest, str(text).encode())
    return digest.digest()


def hash_block(parent: BlockHash, token_ids: Sequence[int], extra_keys: Sequence[str] = ()) -> BlockHash:
    """Hash one full block of `token_ids` behind `parent`; `extra_keys` are its own inputs beside tokens (image hashes).

    Raises OverflowError for a token id that is no signed 64-bit number.
    """
    tokens = array("q", token_ids)
    if byteorder == "big":
        tokens.byteswap()
    digest = hashlib.sha256(parent)
    _update(digest, tokens.tobytes())
    for key in extra_keys:
        _update(digest, key.encode())
    return digest.digest()


def hash_full_blocks(
    parent: BlockHash,
    token_ids: Sequence[int],
    block_size: int,
    extra_keys: Mapping[int, Sequence[str]] | None = None,
    first_block: int = 0,
) -> Iterator[BlockHash]:
    """Hash every full block of `token_ids` from block `first_block` on; `parent` is the hash in front of that block.

    The tokens behind the last full block have no hash: a partial block still changes. `extra_keys` maps a block's
    index in the sequence to its extra inputs.
    """
    extras = extra_keys or {}
    for index in range(first_block, len(token_ids) // block_size):
        start = index * block_size
        parent = hash_block(parent, token_ids[start : start + block_size], extras.get(index, ()))
        yield parent


def _update(digest: "hashlib._Hash", payload: bytes) -> None:
    digest.update(len(payload).to_bytes(8, "little"))
    digest.update(payload)
