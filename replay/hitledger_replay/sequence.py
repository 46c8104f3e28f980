"""A sequence of tokens and the blocks that hold its keys and values."""

from collections.abc import Mapping
from collections.abc import Sequence as TokenIds
from enum import StrEnum

from hitledger_replay.blockhash import BlockHash, hash_full_blocks
from hitledger_replay.errors import IllegalTransitionError


class SequenceState(StrEnum):
    """WAITING -> RUNNING -> FINISHED; RUNNING -> PREEMPTED or SWAPPED -> RUNNING."""

    WAITING = "waiting"
    RUNNING = "running"
    PREEMPTED = "preempted"
    """Its blocks were given back; they are computed anew."""
    SWAPPED = "swapped"
    """Its blocks lie in host memory."""
    FINISHED = "finished"


class Sequence:
    """Tokens, block table and progress of one request. Only `PagedCache` changes it, besides `PagedCache.append`.

    block_table          device block ids, in token order; block i holds tokens [i * block_size, (i + 1) * block_size)
    block_hashes         one hash for each full block of `token_ids`
    num_computed_tokens  tokens whose keys and values lie in the blocks
    num_cached_tokens    of those, the ones taken from the cache when it was first admitted (a preempted sequence's
                         recomputation finds its own blocks; that is no hit, vLLM #25780)
    """

    __slots__ = (
        "block_hashes",
        "block_size",
        "block_table",
        "extra_keys",
        "num_cached_tokens",
        "num_computed_tokens",
        "num_prompt_tokens",
        "root",
        "seq_id",
        "state",
        "token_ids",
    )

    def __init__(
        self,
        seq_id: str,
        token_ids: TokenIds[int],
        *,
        root: BlockHash,
        block_size: int,
        extra_keys: Mapping[int, TokenIds[str]] | None = None,
    ) -> None:
        """`root` comes from `blockhash.root_hash`; `extra_keys` maps a block index to its extra inputs."""
        self.seq_id = seq_id
        self.token_ids = list(token_ids)
        self.root = root
        self.block_size = block_size
        self.extra_keys = dict(extra_keys or {})
        self.num_prompt_tokens = len(self.token_ids)
        self.block_table: list[int] = []
        self.block_hashes: list[BlockHash] = []
        self.num_computed_tokens = 0
        self.num_cached_tokens = 0
        self.state = SequenceState.WAITING
        self.extend_hashes()

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def num_slots(self) -> int:
        """Tokens the allocated blocks can hold."""
        return len(self.block_table) * self.block_size

    def append_token(self, token_id: int) -> None:
        """Put one more token behind the sequence. It has no slot yet."""
        self.token_ids.append(token_id)
        self.extend_hashes()

    def extend_hashes(self) -> None:
        """Hash the blocks that have become full."""
        if len(self.token_ids) // self.block_size == len(self.block_hashes):
            return
        parent = self.block_hashes[-1] if self.block_hashes else self.root
        first = len(self.block_hashes)
        self.block_hashes.extend(hash_full_blocks(parent, self.token_ids, self.block_size, self.extra_keys, first))

    def parent_hash(self, index: int) -> BlockHash:
        """The hash in front of block `index`."""
        return self.block_hashes[index - 1] if index else self.root

    def slot_mapping(self, start: int, stop: int) -> list[int]:
        """Physical slots of tokens [start, stop): block_table[t // block_size] * block_size + t % block_size.

        Raises IndexError if a token has no block.
        """
        size, table = self.block_size, self.block_table
        return [table[token // size] * size + token % size for token in range(start, stop)]

    def require(self, *states: SequenceState) -> None:
        """Raise IllegalTransitionError unless the sequence is in one of `states`."""
        if self.state not in states:
            wanted = " or ".join(states)
            raise IllegalTransitionError(f"sequence {self.seq_id} is {self.state}; this step needs it {wanted}")
