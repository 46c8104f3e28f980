"""The pool of fixed-size KV blocks: who uses which block, which content each holds, and what is evicted next.

Order of vLLM 0.33 (`v1/core/block_pool.py`): free blocks without content go to the front of the queue, last freed
first out; cached blocks follow in the order of the eviction policy. Block 0 is the null block and never handed out.
No tensors here: the same class drives the simulator and the engine. Content keys are any hashable; the engine uses
the chained hash of `blockhash`, the simulator the ids of its trace.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from hitledger_replay.errors import CorruptPoolError, OutOfBlocksError
from hitledger_replay.eviction.lru import LRU
from hitledger_replay.eviction.protocol import EvictionPolicy

OnEvict = Callable[[int, Hashable], None]


class BlockPool:
    """`num_blocks` counts the null block, as vLLM does: `num_blocks - 1` can be handed out."""

    def __init__(self, num_blocks: int, policy: EvictionPolicy | None = None, on_evict: OnEvict | None = None) -> None:
        """`on_evict(block_id, content)` is called before an evicted block is handed out, while its bytes are whole."""
        if num_blocks < 2:
            raise ValueError(f"a pool needs the null block and one more, not {num_blocks}")
        self.num_blocks = num_blocks
        self.policy: EvictionPolicy = LRU() if policy is None else policy  # an empty policy is falsy
        self.ref_count = [0] * num_blocks
        self._content: list[Hashable | None] = [None] * num_blocks
        self._holders: dict[Hashable, dict[int, None]] = {}
        self._blank: deque[int] = deque(range(1, num_blocks))
        self._on_evict = on_evict

    @property
    def num_free_blocks(self) -> int:
        """Blocks nobody uses: without content, or evictable."""
        return len(self._blank) + len(self.policy)

    def free_order(self) -> Iterator[int]:
        """The free blocks in the order they would be handed out."""
        yield from self._blank
        yield from self.policy.order()

    def content(self, block_id: int) -> Hashable | None:
        """What a block can be found by, or None."""
        return self._content[block_id]

    def contents(self) -> set[Hashable]:
        """Every content on the device that can be hit."""
        return set(self._holders)

    def find(self, content: Hashable) -> int | None:
        """A block that holds `content` (the one stored first), or None."""
        holders = self._holders.get(content)
        return next(iter(holders)) if holders else None

    def find_prefix(self, contents: Iterable[Hashable]) -> list[int]:
        """The blocks of the longest run of `contents` from the start that is on the device."""
        found: list[int] = []
        for content in contents:
            block_id = self.find(content)
            if block_id is None:
                break
            found.append(block_id)
        return found

    def can_take(self, hits: Sequence[int], num_new: int) -> bool:
        """Whether `hits` can be shared and `num_new` blocks allocated together; free hits are no room for new ones."""
        return num_new + sum(self.ref_count[block] == 0 for block in set(hits)) <= self.num_free_blocks

    def share(self, block_ids: Iterable[int]) -> None:
        """Count one more user for each block; a free one leaves the eviction order. Do this before `allocate`."""
        for block_id in block_ids:
            if self.ref_count[block_id] == 0:
                self.policy.touch(block_id)
            self.ref_count[block_id] += 1

    def allocate(self, num_new: int) -> list[int]:
        """Hand out blocks with ref_count 1, evicting as needed. All or nothing: raises OutOfBlocksError."""
        if num_new > self.num_free_blocks:
            raise OutOfBlocksError(f"{num_new} blocks asked for, {self.num_free_blocks} of {self.num_blocks} are free")
        taken = [self._next_free() for _ in range(num_new)]
        for block_id in taken:
            self.ref_count[block_id] = 1
        return taken

    def publish(self, block_id: int, content: Hashable) -> bool:
        """Let a computed block be found by `content`. False if it was already published. Copies are kept, as in vLLM."""
        if self._content[block_id] is not None:
            if self._content[block_id] != content:
                raise CorruptPoolError(f"block {block_id} is full with other content; a full block never changes")
            return False
        self._content[block_id] = content
        self._holders.setdefault(content, {})[block_id] = None
        return True

    def release(self, block_ids: Sequence[int]) -> None:
        """Drop one user from each block of a sequence, last block first. Raises CorruptPoolError if nobody uses one."""
        for block_id in reversed(block_ids):
            if self.ref_count[block_id] <= 0:
                raise CorruptPoolError(f"block {block_id} is freed but nobody uses it")
            self.ref_count[block_id] -= 1
            if self.ref_count[block_id] == 0:
                content = self._content[block_id]
                if content is None:
                    self._blank.appendleft(block_id)
                else:
                    self.policy.admit(block_id, content)

    def drop(self, content: Hashable) -> list[int]:
        """Forget `content` (it expired or was flushed); its free blocks become blank. Returns the blocks that held it."""
        dropped = list(self._holders.pop(content, ()))
        for block_id in dropped:
            self._content[block_id] = None
            if self.ref_count[block_id] == 0:
                self.policy.forget(block_id)
                self._blank.appendleft(block_id)
        return dropped

    def check_integrity(self, block_tables: Iterable[Sequence[int]]) -> None:
        """Recount everything from the block tables. Raises CorruptPoolError on the first contradiction."""
        counted = [0] * self.num_blocks
        for table in block_tables:
            for block_id in table:
                counted[block_id] += 1
        free = list(self.free_order())
        if counted != self.ref_count:
            wrong = [block for block in range(self.num_blocks) if counted[block] != self.ref_count[block]]
            raise CorruptPoolError(f"ref_count differs from the block tables for blocks {wrong[:10]}")
        if sorted(free) != [block for block in range(1, self.num_blocks) if counted[block] == 0]:
            raise CorruptPoolError("the free blocks are not the blocks nobody uses")
        held = {(block, content) for content, blocks in self._holders.items() for block in blocks}
        if held != {(block, content) for block, content in enumerate(self._content) if content is not None}:
            raise CorruptPoolError("the index and the blocks disagree about contents")

    def _next_free(self) -> int:
        if self._blank:
            return self._blank.popleft()
        block_id = self.policy.victim()
        content = self._content[block_id]
        self._content[block_id] = None
        holders = self._holders[content]
        del holders[block_id]
        if not holders:
            del self._holders[content]
        if self._on_evict is not None:
            self._on_evict(block_id, content)
        return block_id
