"""What the tensors must do so that the bookkeeping is true. The cache records moves; the engine carries them out.

`PagedCache.take_moves()` hands them over in order. The engine performs all of them, in this order, before it computes
or writes anything else: a source may be overwritten by the very next step. A simulator may throw them away.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """Where a block's bytes lie, nearest first."""

    DEVICE = "device"
    HOST = "host"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class CopyBlock:
    """Copy-on-write: copy the whole block `src` to `dst`, in every layer."""

    src: int
    dst: int


@dataclass(frozen=True, slots=True)
class OffloadBlock:
    """Copy device block `block_id` to `tier` under `block_hash`; the device block is about to be reused."""

    block_id: int
    block_hash: Hashable
    tier: Tier


@dataclass(frozen=True, slots=True)
class LoadBlock:
    """Copy the bytes stored under `block_hash` on `tier` into device block `block_id`; `tier` keeps its copy."""

    block_hash: Hashable
    tier: Tier
    block_id: int


@dataclass(frozen=True, slots=True)
class DemoteBlock:
    """Move the bytes stored under `block_hash` from tier `src` down to tier `dst`."""

    block_hash: Hashable
    src: Tier
    dst: Tier


@dataclass(frozen=True, slots=True)
class DropBlock:
    """Forget the bytes stored under `block_hash` on `tier`."""

    block_hash: Hashable
    tier: Tier


@dataclass(frozen=True, slots=True)
class SwapOut:
    """Save block `index` of a preempted sequence, which lies in device block `block_id`, to host memory."""

    seq_id: str
    index: int
    block_id: int


@dataclass(frozen=True, slots=True)
class SwapIn:
    """Bring block `index` of a resumed sequence back from host memory into device block `block_id`."""

    seq_id: str
    index: int
    block_id: int


@dataclass(frozen=True, slots=True)
class DropSwap:
    """Forget all that was swapped out for a sequence."""

    seq_id: str


Move = CopyBlock | OffloadBlock | LoadBlock | DemoteBlock | DropBlock | SwapOut | SwapIn | DropSwap
