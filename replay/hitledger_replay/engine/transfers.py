"""Carries out the cache's moves on the tensors: copy-on-write, offload, load, swap. Real bytes, real time.

Host copies are pinned where the device is CUDA. The disk tier keeps one file a block, named by a counter of ours, in a
folder that the caller owns; blocks are raw bytes, nothing is unpickled.
"""

import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy
import torch

from hitledger_replay.engine.clock import synchronize
from hitledger_replay.engine.store import KVStore
from hitledger_replay.errors import ReplayError
from hitledger_replay.moves import (
    CopyBlock,
    DemoteBlock,
    DropBlock,
    DropSwap,
    LoadBlock,
    Move,
    OffloadBlock,
    SwapIn,
    SwapOut,
    Tier,
)


@dataclass(slots=True)
class TransferTotals:
    """Bytes moved and seconds taken, by kind of move."""

    bytes: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, kind: str, num_bytes: int, seconds: float) -> None:
        """Count one move."""
        self.bytes[kind] = self.bytes.get(kind, 0) + num_bytes
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds


class Transfers:
    """The blocks below the device, and the swap space."""

    def __init__(self, store: KVStore, disk: Path | None = None) -> None:
        """`disk` is an empty folder for the disk tier; without one a move to it raises ReplayError."""
        self.store = store
        self.totals = TransferTotals()
        self._disk = disk
        self._host: dict[Hashable, torch.Tensor] = {}
        self._files: dict[Hashable, Path] = {}
        self._swap: dict[tuple[str, int], torch.Tensor] = {}
        self._num_files = 0

    @property
    def host_bytes(self) -> int:
        """Bytes of host memory held, swap space included."""
        return self.store.block_bytes * (len(self._host) + len(self._swap))

    def carry_out(self, moves: Iterable[Move]) -> float:
        """Perform `moves` in order; returns the seconds it took, the device's work included."""
        begun = time.perf_counter()
        for move in moves:
            before = time.perf_counter()
            moved = self._perform(move)
            if moved:
                synchronize(self.store.device)
                self.totals.add(type(move).__name__, moved, time.perf_counter() - before)
        return time.perf_counter() - begun

    def _perform(self, move: Move) -> int:
        rows = self.store.rows
        match move:
            case CopyBlock(src, dst):
                self.store.copy_block(src, dst)
            case OffloadBlock(block_id, content, tier):
                self._keep(content, self._to_host(rows[block_id]), tier)
            case LoadBlock(content, tier, block_id):
                rows[block_id].copy_(self._held(content, tier))
            case DemoteBlock(content, src, dst):
                block = self._held(content, src)
                self._forget(content, src)
                self._keep(content, block, dst)
            case SwapOut(seq_id, index, block_id):
                self._swap[seq_id, index] = self._to_host(rows[block_id])
            case SwapIn(seq_id, index, block_id):
                rows[block_id].copy_(self._swap[seq_id, index])
            case DropBlock(content, tier):
                self._forget(content, tier)
                return 0
            case DropSwap(seq_id):
                self._swap = {key: block for key, block in self._swap.items() if key[0] != seq_id}
                return 0
        return self.store.block_bytes

    def _to_host(self, row: torch.Tensor) -> torch.Tensor:
        pin = self.store.device.type == "cuda"
        return torch.empty(row.shape, dtype=row.dtype, pin_memory=pin).copy_(row)

    def _keep(self, content: Hashable, block: torch.Tensor, tier: Tier) -> None:
        if tier is Tier.HOST:
            self._host[content] = block
            return
        if self._disk is None:
            raise ReplayError("a disk tier was asked for without a folder for it")
        self._num_files += 1
        path = self._disk / f"block-{self._num_files}.kv"
        block.view(torch.uint8).numpy().tofile(path)
        self._files[content] = path

    def _held(self, content: Hashable, tier: Tier) -> torch.Tensor:
        if tier is Tier.HOST:
            return self._host[content]
        raw = numpy.fromfile(self._files[content], dtype=numpy.uint8)
        if raw.nbytes != self.store.block_bytes:
            raise ReplayError(f"{self._files[content].name}: {raw.nbytes} bytes, a block has {self.store.block_bytes}")
        return torch.from_numpy(raw).view(self.store.rows.dtype)

    def _forget(self, content: Hashable, tier: Tier) -> None:
        if tier is Tier.HOST:
            del self._host[content]
        else:
            self._files.pop(content).unlink()
