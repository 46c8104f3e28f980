"""The protocol between the block pool and an eviction policy."""

from collections.abc import Hashable, Iterator
from typing import Protocol


class EvictionPolicy(Protocol):
    """Orders the cached blocks that nobody uses. Blocks in use are never shown to a policy, so it cannot take them."""

    name: str

    def admit(self, block_id: int, content: Hashable) -> None:
        """A cached block lost its last user and may be evicted. The pool admits a sequence's last block first."""

    def touch(self, block_id: int) -> None:
        """A hit: the block is in use again and must not be chosen until it is admitted anew."""

    def forget(self, block_id: int) -> None:
        """The block's content was dropped for a reason of the pool's own (flush, expiry)."""

    def victim(self) -> int:
        """Choose a block, drop it and return its id. Only called when the policy is not empty."""

    def order(self) -> Iterator[int]:
        """The blocks in the order in which they would be evicted if nothing else happened."""

    def __len__(self) -> int:
        """How many blocks may be evicted."""
