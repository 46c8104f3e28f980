"""One step's tokens of several sequences, packed into one row without padding."""

from collections.abc import Sequence as Spans
from dataclasses import dataclass

import torch

from hitledger_replay.blocks import blocks_for
from hitledger_replay.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Work:
    """Compute tokens [start, stop) of a sequence in this step; everything in front of `start` lies in its blocks."""

    sequence: Sequence
    start: int
    stop: int

    @property
    def wants_logits(self) -> bool:
        """True if the step computes the sequence's last token, so its next one can be sampled."""
        return self.stop == len(self.sequence)

    @property
    def is_decode(self) -> bool:
        """True if one token is computed and the next one sampled from it."""
        return self.stop - self.start == 1 and self.wants_logits


@dataclass(frozen=True, slots=True)
class Part:
    """Where one sequence lies in the packed tensors.

    Its queries are [query_start, query_stop); its keys [key_start, key_start + num_keys) of the gathered stream, in
    token order, the queries' own keys last.
    """

    query_start: int
    query_stop: int
    key_start: int
    num_keys: int

    @property
    def num_queries(self) -> int:
        """Tokens computed in this step."""
        return self.query_stop - self.query_start

    @property
    def num_past(self) -> int:
        """Keys in front of the first query."""
        return self.num_keys - self.num_queries


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Shapes: token_ids and position_ids (1, T); write_blocks and write_offsets (T,); block_ids one entry for each
    block of each part, part after part; logits_index the packed position of the last token of every part that ends."""

    token_ids: torch.Tensor
    position_ids: torch.Tensor
    write_blocks: torch.Tensor
    write_offsets: torch.Tensor
    block_ids: torch.Tensor
    logits_index: torch.Tensor
    parts: tuple[Part, ...]
    block_tables: tuple[tuple[int, ...], ...]


def pack(works: Spans[Work], block_size: int, device: torch.device) -> PackedBatch:
    """Lay `works` out one behind the other."""
    tokens: list[int] = []
    positions: list[int] = []
    slots: list[int] = []
    tables: list[tuple[int, ...]] = []
    parts: list[Part] = []
    ends: list[int] = []
    keys = 0
    for work in works:
        seq, first = work.sequence, len(tokens)
        tokens.extend(seq.token_ids[work.start : work.stop])
        positions.extend(range(work.start, work.stop))
        slots.extend(seq.slot_mapping(work.start, work.stop))
        table = tuple(seq.block_table[: blocks_for(work.stop, block_size)])
        parts.append(Part(first, len(tokens), keys, work.stop))
        tables.append(table)
        keys += len(table) * block_size
        if work.wants_logits:
            ends.append(len(tokens) - 1)

    def tensor(values: Spans[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    slot = tensor(slots)
    return PackedBatch(
        token_ids=tensor(tokens)[None],
        position_ids=tensor(positions)[None],
        write_blocks=slot // block_size,
        write_offsets=slot % block_size,
        block_ids=tensor([block for table in tables for block in table]),
        logits_index=tensor(ends),
        parts=tuple(parts),
        block_tables=tuple(tables),
    )
