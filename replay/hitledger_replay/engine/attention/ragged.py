"""The index tensors a variable-length kernel wants, from a packed batch."""

from dataclasses import dataclass

import torch

from hitledger_replay.engine.batch import PackedBatch


@dataclass(frozen=True, slots=True)
class VarlenArguments:
    """int32 tensors: query_starts and key_starts (N + 1,), used_keys (N,), block_table (N, widest table), 0 behind a
    row's end. key_starts are places in the gathered stream, whose parts end with whole blocks; the maxima may be larger
    than what a batch has."""

    query_starts: torch.Tensor
    key_starts: torch.Tensor
    used_keys: torch.Tensor
    block_table: torch.Tensor
    max_queries: int
    max_keys: int


def varlen_arguments(batch: PackedBatch, block_size: int, device: torch.device) -> VarlenArguments:
    """Where each sequence's queries and keys begin, how many keys it has, and in which blocks they lie."""
    widest = max(len(table) for table in batch.block_tables)
    rows = [[*table, *[0] * (widest - len(table))] for table in batch.block_tables]
    starts = [0, *(part.query_stop for part in batch.parts)]

    def tensor(values: object) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=device)

    return VarlenArguments(
        query_starts=tensor(starts),
        key_starts=tensor([*(part.key_start for part in batch.parts), len(batch.block_ids) * block_size]),
        used_keys=tensor([part.num_keys for part in batch.parts]),
        block_table=tensor(rows),
        max_queries=max(part.num_queries for part in batch.parts),
        max_keys=max(part.num_keys for part in batch.parts),
    )
