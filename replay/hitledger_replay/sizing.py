"""How many bytes the cache of N sequences takes, term by term, and how many tokens and sequences fit a memory.

Logical bytes are what the tokens need; physical bytes are what is really taken: payload of live tokens, rounding to
whole blocks, scales and alignment, metadata, workspace. Three capacities are kept apart, since each is "how many
tokens fit" to somebody: bytes / bytes per token; what the allocator can hand out; what a server can run at steadily.
"""

from dataclasses import dataclass

from hitledger_replay.blocks import blocks_for
from hitledger_replay.dtypes import KVDtype
from hitledger_replay.errors import ReplayError
from hitledger_replay.spec import KVSpec, LayerGroup

BLOCK_TABLE_ENTRY_BYTES = 4
SLOT_ENTRY_BYTES = 8
WATERMARK = 0.01
"""Share of the blocks an engine keeps free to admit by (vLLM's default watermark)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the cache is cut up: tokens per block, bytes each block of a layer is aligned to, workspace of the kernels."""

    block_size: int = 16
    alignment: int = 1
    workspace_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Physical:
    """Bytes on one rank. The first three are the allocated blocks; they and the fixed scales are tensor storage."""

    live: int
    rounding: int
    scales_alignment: int
    metadata: int
    workspace: int

    @property
    def total(self) -> int:
        """Everything."""
        return self.live + self.rounding + self.scales_alignment + self.metadata + self.workspace


@dataclass(frozen=True, slots=True)
class Capacity:
    """Tokens that fit `cache_bytes`, and sequences of the asked length by each measure."""

    cache_bytes: int
    theoretical_tokens: int
    allocatable_tokens: int
    stable_tokens: int
    allocatable_sequences: int
    stable_sequences: int


def block_bytes(spec: KVSpec, dtype: KVDtype, layout: Layout) -> int:
    """Storage of one block over all layers: payload and per-token scales, aligned layer by layer."""
    return sum(group.num_layers * _block_of_layer(group, dtype, layout) for group in spec.groups)


def physical(spec: KVSpec, num_tokens: int, num_sequences: int, dtype: KVDtype, layout: Layout) -> Physical:
    """What `num_sequences` sequences of `num_tokens`, sharing nothing, take on the rank `spec` describes.

    A window keeps whole blocks, so a full one holds up to one block more than its tokens.
    """
    payload = spec.payload_bytes(num_tokens, dtype)
    slots = stored = 0
    for group in spec.groups:
        blocks = blocks_for(group.retained(num_tokens), layout.block_size)
        slots += group.num_layers * blocks * layout.block_size * group.elements_per_token * dtype.element_bytes
        stored += group.num_layers * blocks * _block_of_layer(group, dtype, layout)
    table = blocks_for(num_tokens, layout.block_size) * BLOCK_TABLE_ENTRY_BYTES + num_tokens * SLOT_ENTRY_BYTES
    return Physical(
        live=num_sequences * (payload + spec.state_bytes()),
        rounding=num_sequences * (slots - payload),
        scales_alignment=num_sequences * (stored - slots) + spec.fixed_scale_bytes(dtype),
        metadata=num_sequences * table,
        workspace=layout.workspace_bytes,
    )


def capacity(
    spec: KVSpec, cache_bytes: int, num_tokens: int, num_sequences: int, dtype: KVDtype, layout: Layout
) -> Capacity:
    """The three capacities of `cache_bytes` on one rank, for sequences that have `num_tokens` tokens at their end.

    theoretical  cache_bytes / bytes per token
    allocatable  whole blocks, less the null block, times block_size
    stable       less the watermark, and less one block for each of `num_sequences` unfilled tails

    Windows and recurrent state are counted for a sequence of this length. Raises ReplayError for a negative memory.
    """
    if cache_bytes < 0:
        raise ReplayError("the weights and the workspace leave no memory for a cache; give more memory or more ranks")
    per_sequence = spec.sequence_bytes(num_tokens, dtype)
    total = physical(spec, num_tokens, 1, dtype, layout)
    allocated = total.live + total.rounding + total.scales_alignment - spec.fixed_scale_bytes(dtype)
    blocks = blocks_for(num_tokens, layout.block_size)
    unit = max(1, -(-allocated // blocks))
    usable = max(0, cache_bytes // unit - 1)
    steady = max(0, usable - int(usable * WATERMARK) - num_sequences)
    return Capacity(
        cache_bytes=cache_bytes,
        theoretical_tokens=cache_bytes * num_tokens // max(1, per_sequence),
        allocatable_tokens=usable * layout.block_size,
        stable_tokens=steady * layout.block_size,
        allocatable_sequences=usable // blocks,
        stable_sequences=max(0, usable - int(usable * WATERMARK)) // blocks,
    )


def _block_of_layer(group: LayerGroup, dtype: KVDtype, layout: Layout) -> int:
    token = group.elements_per_token * dtype.element_bytes + group.token_scale_bytes(dtype)
    return -(-layout.block_size * token // layout.alignment) * layout.alignment
