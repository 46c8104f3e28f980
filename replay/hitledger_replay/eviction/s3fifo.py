"""S3-FIFO (Yang et al., SOSP'23): a small queue for newcomers, a main queue, and ghosts of what just left.

Most blocks are used once; the small queue lets those go early. A block used more than once in it moves to the main
queue; one that comes back while its ghost is remembered starts there. The main queue gives used blocks another round.
Blocks in use keep their place and are passed over.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator

MAX_USES = 3
SMALL_SHARE = 0.1


class S3FIFO:
    """`capacity` in blocks sets the small queue's size (a tenth) and the number of ghosts (as many as main blocks)."""

    name = "s3-fifo"

    def __init__(self, capacity: int) -> None:
        self._small_blocks = max(1, int(capacity * SMALL_SHARE))
        self._ghosts: OrderedDict[Hashable, None] = OrderedDict()
        self._max_ghosts = max(1, capacity - self._small_blocks)
        self._small: OrderedDict[int, None] = OrderedDict()
        self._main: OrderedDict[int, None] = OrderedDict()
        self._contents: dict[int, Hashable] = {}
        self._uses: dict[int, int] = {}
        self._free: set[int] = set()

    def admit(self, block_id: int, content: Hashable) -> None:
        self._free.add(block_id)
        if block_id in self._contents:
            return
        self._contents[block_id] = content
        self._uses[block_id] = 0
        if content in self._ghosts:
            del self._ghosts[content]
            self._main[block_id] = None
        else:
            self._small[block_id] = None

    def touch(self, block_id: int) -> None:
        self._free.remove(block_id)
        self._uses[block_id] = min(MAX_USES, self._uses[block_id] + 1)

    def forget(self, block_id: int) -> None:
        self._free.remove(block_id)
        self._small.pop(block_id, None)
        self._main.pop(block_id, None)
        del self._contents[block_id], self._uses[block_id]

    def victim(self) -> int:
        while True:
            if len(self._small) >= self._small_blocks or not self._free_in(self._main):
                block_id = self._from_small()
            else:
                block_id = self._from_main()
            if block_id is not None:
                return block_id

    def order(self) -> Iterator[int]:
        """Small queue, then main queue; the true order also depends on uses."""
        yield from (block for block in (*self._small, *self._main) if block in self._free)

    def __len__(self) -> int:
        return len(self._free)

    def _free_in(self, queue: OrderedDict[int, None]) -> int | None:
        return next((block for block in queue if block in self._free), None)

    def _from_small(self) -> int | None:
        block_id = self._free_in(self._small)
        if block_id is None:
            return self._from_main()
        if self._uses[block_id] > 1:
            del self._small[block_id]
            self._main[block_id] = None
            self._uses[block_id] = 0
            return None
        self._ghosts[self._contents[block_id]] = None
        if len(self._ghosts) > self._max_ghosts:
            self._ghosts.popitem(last=False)
        self.forget(block_id)
        return block_id

    def _from_main(self) -> int | None:
        block_id = self._free_in(self._main)
        if block_id is None:
            return None
        if self._uses[block_id]:
            self._uses[block_id] -= 1
            self._main.move_to_end(block_id)
            return None
        self.forget(block_id)
        return block_id
