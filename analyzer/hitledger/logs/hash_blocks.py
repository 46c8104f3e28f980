"""Prompts of traces that hold block hashes for tokens: one segment a block, so that prefixes compare as of any prompt."""

from collections.abc import Sequence
from hashlib import blake2b

from hitledger.tokens import DIGITS_PER_ID
from hitledger.types import Kind, Prompt, Segment, Tier, prompt_of

NOTE = "hash_only"


def hashed_prompt(hash_ids: Sequence[int], scope: str, block_tokens: int, input_tokens: int) -> Prompt:
    """One segment of kind tokens a block, at `hash_ids[i]`. Equal ids mean equal content within one `scope`.

    In these traces an id stands for the block and all that is in front of it. The last block may be part full.
    """
    lengths = (min(block_tokens, max(0, input_tokens - index * block_tokens)) for index in range(len(hash_ids)))
    return prompt_of(
        tuple(
            _segment(index, hash_id, scope, tokens)
            for index, (hash_id, tokens) in enumerate(zip(hash_ids, lengths, strict=True))
        )
    )


def _segment(index: int, hash_id: int, scope: str, tokens: int) -> Segment:
    """`chars` is what the token ids would take, so that the segment counts as its tokens."""
    digest = blake2b(f"{scope}\0{hash_id}".encode(), digest_size=16).digest()
    return Segment(Kind.TOKENS, Tier.MESSAGES, f"hash_ids[{index}]", "", digest, tokens * DIGITS_PER_ID)


def is_hash_ids(value: object) -> bool:
    """Whether a value is a list of block ids."""
    return isinstance(value, list) and all(type(item) is int for item in value)
