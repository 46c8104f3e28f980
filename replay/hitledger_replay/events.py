"""What the cache tells a listener: the lifecycle of sequences, and which hashes the device holds.

Names and fields follow vLLM's KV events (`BlockStored`, `BlockRemoved`, `AllBlocksCleared`), which SGLang and llm-d
consume too. Folding the three block events gives the set of cached hashes at any time (`cached_hashes`).
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from hitledger_replay.moves import DemoteBlock, DropBlock, Move, OffloadBlock, Tier


class Stage(StrEnum):
    """Lookup -> Allocate -> Populate -> Append -> Share / CoW -> Preempt / Offload -> Evict / Free."""

    LOOKUP = "lookup"
    ALLOCATE = "allocate"
    POPULATE = "populate"
    APPEND = "append"
    SHARE = "share"
    COPY_ON_WRITE = "copy_on_write"
    PREEMPT = "preempt"
    OFFLOAD = "offload"
    EVICT = "evict"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class SequenceEvent:
    """One lifecycle step. `seq_id` is the sequence it serves; for OFFLOAD and EVICT the one that needed the room."""

    stage: Stage
    seq_id: str
    num_tokens: int
    block_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockStored:
    """A full block was computed, loaded or offloaded and can be hit on `medium` from now on.

    `block_id` is None below the device; the parent is only known for computed blocks.
    """

    block_hash: Hashable
    parent_block_hash: Hashable | None
    block_id: int | None
    medium: Tier = Tier.DEVICE


@dataclass(frozen=True, slots=True)
class BlockRemoved:
    """One copy of this content left the medium."""

    block_hash: Hashable
    block_id: int | None
    medium: Tier = Tier.DEVICE


@dataclass(frozen=True, slots=True)
class AllBlocksCleared:
    """The device's whole prefix cache was flushed."""


CacheEvent = SequenceEvent | BlockStored | BlockRemoved | AllBlocksCleared


def cached_hashes(events: Iterable[CacheEvent], medium: Tier = Tier.DEVICE) -> set[Hashable]:
    """Rebuild the set of hashes a medium holds from the events alone."""
    copies: Counter[Hashable] = Counter()
    for event in events:
        if isinstance(event, BlockStored) and event.medium == medium:
            copies[event.block_hash] += 1
        elif isinstance(event, BlockRemoved) and event.medium == medium:
            copies[event.block_hash] -= 1
        elif isinstance(event, AllBlocksCleared) and medium == Tier.DEVICE:
            copies.clear()
    return {block_hash for block_hash, count in copies.items() if count > 0}


def tier_events(moves: Iterable[Move]) -> Iterator[BlockStored | BlockRemoved]:
    """What transfers between tiers change below the device."""
    for move in moves:
        if isinstance(move, OffloadBlock):
            yield BlockStored(move.block_hash, None, None, move.tier)
        elif isinstance(move, DemoteBlock):
            yield BlockRemoved(move.block_hash, None, move.src)
            yield BlockStored(move.block_hash, None, None, move.dst)
        elif isinstance(move, DropBlock):
            yield BlockRemoved(move.block_hash, None, move.tier)
