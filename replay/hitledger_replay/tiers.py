"""The memories below the device: which blocks lie in host memory and on disk once the device evicted them.

A block evicted from the device goes to the nearest tier with room; that tier's least recently used block moves one
tier down, and out of the last one. A block loaded back keeps its copy below, so evicting it again costs no transfer.
"""

from collections import OrderedDict
from collections.abc import Collection, Hashable

from hitledger_replay.moves import DemoteBlock, DropBlock, Move, OffloadBlock, Tier


class TierStack:
    """Host and disk as two LRU stores of whole blocks; a tier of 0 blocks does not exist."""

    def __init__(self, host_blocks: int = 0, disk_blocks: int = 0) -> None:
        capacities = {Tier.HOST: host_blocks, Tier.DISK: disk_blocks}
        self._stores: dict[Tier, OrderedDict[Hashable, None]] = {t: OrderedDict() for t, n in capacities.items() if n}
        self._capacity = capacities

    def find(self, content: Hashable) -> Tier | None:
        """The nearest tier that holds `content`."""
        return next((tier for tier, store in self._stores.items() if content in store), None)

    def contents(self, tier: Tier) -> set[Hashable]:
        """What a tier holds."""
        return set(self._stores.get(tier, ()))

    def touch(self, content: Hashable) -> None:
        """A hit on a lower tier: its copy is the most recently used there."""
        tier = self.find(content)
        if tier is not None:
            self._stores[tier].move_to_end(content)

    def offload(self, block_id: int, content: Hashable, pinned: Collection[Hashable] = ()) -> list[Move]:
        """Keep an evicted device block. Returns the transfers in order; none if it is held already or nothing has room.

        `pinned` contents are about to be loaded and must stay in the stack.
        """
        if self.find(content) is not None:
            self.touch(content)
            return []
        for tier in self._stores:
            room = self._make_room(tier, pinned)
            if room is not None:
                self._stores[tier][content] = None
                return [*room, OffloadBlock(block_id, content, tier)]
        return []

    def _make_room(self, tier: Tier, pinned: Collection[Hashable]) -> list[Move] | None:
        """The transfers that free one block in `tier`, carried out in the books; None if all of it is pinned."""
        store = self._stores[tier]
        if len(store) < self._capacity[tier]:
            return []
        victim = next((content for content in store if content not in pinned), None)
        if victim is None:
            return None
        del store[victim]
        lower = self._below(tier)
        room = self._make_room(lower, pinned) if lower is not None else None
        if lower is None or room is None:
            return [DropBlock(victim, tier)]
        self._stores[lower][victim] = None
        return [*room, DemoteBlock(victim, tier, lower)]

    def _below(self, tier: Tier) -> Tier | None:
        tiers = list(self._stores)
        after = tiers[tiers.index(tier) + 1 :]
        return after[0] if after else None
