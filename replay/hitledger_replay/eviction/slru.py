"""Segmented LRU (Karedla et al., 1994): blocks used once go before blocks used again."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator


class SLRU:
    """A block starts on probation; used again, it is protected. Too many protected: their oldest is on probation again.

    `protected_blocks` bounds the protected segment.
    """

    name = "slru"

    def __init__(self, protected_blocks: int) -> None:
        self._protected_blocks = protected_blocks
        self._probation: OrderedDict[int, None] = OrderedDict()
        self._protected: OrderedDict[int, None] = OrderedDict()
        self._used_again: set[int] = set()

    def admit(self, block_id: int, content: Hashable) -> None:
        if block_id not in self._used_again:
            self._probation[block_id] = None
            return
        self._protected[block_id] = None
        if len(self._protected) > self._protected_blocks:
            demoted = self._protected.popitem(last=False)[0]
            self._used_again.discard(demoted)
            self._probation[demoted] = None

    def touch(self, block_id: int) -> None:
        self._remove(block_id)
        self._used_again.add(block_id)

    def forget(self, block_id: int) -> None:
        self._remove(block_id)
        self._used_again.discard(block_id)

    def victim(self) -> int:
        segment = self._probation or self._protected
        block_id = segment.popitem(last=False)[0]
        self._used_again.discard(block_id)
        return block_id

    def order(self) -> Iterator[int]:
        yield from self._probation
        yield from self._protected

    def __len__(self) -> int:
        return len(self._probation) + len(self._protected)

    def _remove(self, block_id: int) -> None:
        segment = self._probation if block_id in self._probation else self._protected
        del segment[block_id]
