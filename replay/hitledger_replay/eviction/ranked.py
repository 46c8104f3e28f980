"""Policies that give every free block a rank and evict the lowest: FIFO and LFU."""

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush

Rank = tuple[int, int]


class Ranked:
    """Keeps a heap of (rank, block); entries of blocks that were used or evicted since are skipped when they surface."""

    name = "ranked"

    def __init__(self) -> None:
        self._heap: list[tuple[Rank, int]] = []
        self._free: dict[int, Rank] = {}
        self._admissions = 0

    def rank(self, block_id: int) -> Rank:
        """The rank of a block that is admitted now; `self._admissions` counts admissions."""
        raise NotImplementedError

    def dropped(self, block_id: int) -> None:
        """The block's content is gone: forget what was remembered of it."""
        raise NotImplementedError

    def admit(self, block_id: int, content: Hashable) -> None:
        self._admissions += 1
        rank = self._free[block_id] = self.rank(block_id)
        heappush(self._heap, (rank, block_id))

    def touch(self, block_id: int) -> None:
        del self._free[block_id]

    def forget(self, block_id: int) -> None:
        del self._free[block_id]
        self.dropped(block_id)

    def victim(self) -> int:
        while True:
            rank, block_id = heappop(self._heap)
            if self._free.get(block_id) == rank:
                self.forget(block_id)
                return block_id

    def order(self) -> Iterator[int]:
        return iter(sorted(self._free, key=lambda block_id: self._free[block_id]))

    def __len__(self) -> int:
        return len(self._free)


class FIFO(Ranked):
    """Evicts the block that was first released longest ago, however often it was used since."""

    name = "fifo"

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[int, int] = {}

    def rank(self, block_id: int) -> Rank:
        return self._first.setdefault(block_id, self._admissions), block_id

    def dropped(self, block_id: int) -> None:
        del self._first[block_id]


class LFU(Ranked):
    """Evicts the block that was used by the fewest sequences; among equals the least recently used one."""

    name = "lfu"

    def __init__(self) -> None:
        super().__init__()
        self._uses: dict[int, int] = {}

    def rank(self, block_id: int) -> Rank:
        self._uses[block_id] = self._uses.get(block_id, 0) + 1
        return self._uses[block_id], self._admissions

    def dropped(self, block_id: int) -> None:
        del self._uses[block_id]
