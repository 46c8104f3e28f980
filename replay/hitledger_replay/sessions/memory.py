"""How many blocks a replay needs, whether they fit, and where the bytes went."""

import os
from dataclasses import dataclass

import torch

from hitledger.measurement import MemoryLedger
from hitledger_replay.engine.engine import Engine
from hitledger_replay.errors import ReplayError
from hitledger_replay.sizing import BLOCK_TABLE_ENTRY_BYTES, SLOT_ENTRY_BYTES

USABLE = 0.8
"""Share of the memory that is free now which a replay may take."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What all calls together need: nothing is evicted for want of room, so misses come from the sessions alone.

    `twin_blocks` is for the engine that runs broken calls once more, unbroken.
    """

    num_blocks: int
    twin_blocks: int
    longest_call: str
    longest_tokens: int
    num_calls: int


def free_bytes(device: torch.device) -> int:
    """Memory that is free on the device now."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def affordable_blocks(block_bytes: int, device: torch.device) -> int:
    """How many blocks may be taken of the memory that is free now."""
    return int(USABLE * free_bytes(device)) // block_bytes


def require_room(demand: Demand, block_size: int, token_bytes: int, device: torch.device) -> None:
    """Raise ReplayError with the sizes if the pool cannot be had."""
    there = free_bytes(device)
    blocks = demand.num_blocks + demand.twin_blocks
    wanted = blocks * block_size * token_bytes
    if wanted <= USABLE * there:
        return
    rows = (
        ("blocks", f"{blocks:,} of {block_size} tokens"),
        ("bytes a token", f"{token_bytes:,}"),
        ("pool", f"{wanted / 2**30:.1f} GiB"),
        ("free memory", f"{there / 2**30:.1f} GiB, of which {USABLE:.0%} may be used"),
    )
    table = "\n".join(f"  {name:14} {value}" for name, value in rows)
    raise ReplayError(
        f"the replay does not fit {device.type}:\n{table}\n"
        "use --kv-dtype fp8, --scale auto, --mode tiny, or --mode plan, which holds no keys and values"
    )


def memory_ledger(engine: Engine, peak_tokens: int, peak_slots: int) -> MemoryLedger:
    """`peak_tokens` lay in `peak_slots` slots of blocks in use or cached, at the fullest moment."""
    store = engine.store
    token_bytes = store.block_bytes // store.block_size
    pool = store.rows.numel() * store.rows.element_size()
    used = peak_slots * token_bytes
    return MemoryLedger(
        pool_bytes=pool,
        live_bytes=peak_tokens * token_bytes,
        rounding_bytes=used - peak_tokens * token_bytes,
        free_bytes=pool - used,
        scale_bytes=store.codec.num_scale_bytes,
        metadata_bytes=peak_slots // store.block_size * BLOCK_TABLE_ENTRY_BYTES + peak_tokens * SLOT_ENTRY_BYTES,
        workspace_bytes=_workspace(store.device),
        host_bytes=engine.transfers.host_bytes,
        bytes_per_token=token_bytes,
    )


def _workspace(device: torch.device) -> int | None:
    """What the allocator gave out at its peak beyond what is held now; CPUs have no such counter."""
    if device.type != "cuda":
        return None
    return int(torch.cuda.max_memory_allocated(device) - torch.cuda.memory_allocated(device))
