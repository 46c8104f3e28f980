"""Prompts of traces that hold block hashes for tokens: one segment a block, so that prefixes compare as of any prompt."""

from datetime import UTC, datetime
from hashlib import blake2b

from hitledger.tokens import DIGITS_PER_ID
from hitledger.types import Kind, Prompt, Segment, Tier, prompt_of

NOTE = "hash_only"
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # where the times of such traces, which are relative, are put


class HashPrompts:
    """Prompts of one scope, within which an id stands for a block's content and all that is in front of it.

    Prompts that share blocks share segments, and one that goes on from the last one shares all of it.
    """

    def __init__(self, scope: str, block_tokens: int) -> None:
        self.scope = scope
        self.block_tokens = block_tokens
        self._segments: dict[tuple[int, int, int], Segment] = {}
        self._last: tuple[list[int], int, Prompt] = ([], 0, prompt_of(()))

    def prompt(self, hash_ids: list[int], input_tokens: int) -> Prompt:
        """One segment of kind tokens a block, at `hash_ids[i]`; the last block may be part full."""
        ids, tokens, last = self._last
        whole = tokens == len(ids) * self.block_tokens
        shared = len(ids) if whole and ids == hash_ids[: len(ids)] else 0
        own = tuple(
            self._segment(
                index, hash_ids[index], min(self.block_tokens, max(0, input_tokens - index * self.block_tokens))
            )
            for index in range(shared, len(hash_ids))
        )
        prompt = last.extend(own) if shared else prompt_of(own)
        self._last = hash_ids, input_tokens, prompt
        return prompt

    def _segment(self, index: int, hash_id: int, tokens: int) -> Segment:
        """`chars` is what the token ids would take, so that the segment counts as its tokens."""
        key = (index, hash_id, tokens)
        found = self._segments.get(key)
        if found is None:
            digest = blake2b(f"{self.scope}\0{hash_id}".encode(), digest_size=16).digest()
            chars = tokens * DIGITS_PER_ID
            found = Segment(Kind.TOKENS, Tier.MESSAGES, f"hash_ids[{index}]", "", digest, chars)
            self._segments[key] = found
        return found


def is_hash_ids(value: object) -> bool:
    """Whether a value is a list of block ids."""
    return isinstance(value, list) and all(type(item) is int for item in value)
