"""Least recently used, flat: vLLM's order.

A sequence's blocks are admitted last block first, so of one sequence the tail goes first and a parent outlives its
children. In sequential replay this equals leaf-LRU on a radix tree, token for token (see `eviction/leaf.py`).
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator


class LRU:
    """Evicts the block whose last use is longest ago."""

    name = "lru"

    def __init__(self) -> None:
        self._queue: OrderedDict[int, None] = OrderedDict()

    def admit(self, block_id: int, content: Hashable) -> None:
        self._queue[block_id] = None

    def touch(self, block_id: int) -> None:
        del self._queue[block_id]

    def forget(self, block_id: int) -> None:
        del self._queue[block_id]

    def victim(self) -> int:
        return self._queue.popitem(last=False)[0]

    def order(self) -> Iterator[int]:
        return iter(self._queue)

    def __len__(self) -> int:
        return len(self._queue)
