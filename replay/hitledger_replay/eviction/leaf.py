"""Least recently used among leaves, as a radix tree evicts (SGLang): a block goes only when none of its children is left."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from heapq import heappop, heappush


class LeafLRU:
    """`parent_of(content)` gives the content in front of a block's, or None at the root."""

    name = "leaf-lru"

    def __init__(self, parent_of: Callable[[Hashable], Hashable | None]) -> None:
        self._parent_of = parent_of
        self._children: Counter[Hashable] = Counter()
        self._contents: dict[int, Hashable] = {}
        self._block_of: dict[Hashable, int] = {}
        self._used: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []
        self._clock = 0

    def admit(self, block_id: int, content: Hashable) -> None:
        self._clock += 1
        self._used[block_id] = self._clock
        if block_id not in self._contents:
            self._contents[block_id] = content
            self._block_of[content] = block_id
            self._children[self._parent_of(content)] += 1
        self._offer(block_id)

    def touch(self, block_id: int) -> None:
        del self._used[block_id]

    def forget(self, block_id: int) -> None:
        del self._used[block_id]
        content = self._contents.pop(block_id)
        self._block_of.pop(content, None)
        parent = self._parent_of(content)
        self._children[parent] -= 1
        if not self._children[parent]:
            del self._children[parent]
            if parent in self._block_of:
                self._offer(self._block_of[parent])

    def victim(self) -> int:
        while True:
            used, block_id = heappop(self._heap)
            if self._used.get(block_id) == used and not self._children[self._contents[block_id]]:
                self.forget(block_id)
                return block_id

    def order(self) -> Iterator[int]:
        """By last use; a parent waits for its children, which were used no later."""
        return iter(sorted(self._used, key=lambda block_id: self._used[block_id]))

    def __len__(self) -> int:
        return len(self._used)

    def _offer(self, block_id: int) -> None:
        if block_id in self._used and not self._children[self._contents[block_id]]:
            heappush(self._heap, (self._used[block_id], block_id))
