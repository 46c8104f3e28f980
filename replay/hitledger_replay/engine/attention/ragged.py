"""The index tensors a variable-length kernel wants, from a packed batch."""

from dataclasses import dataclass

import torch

from hitledger_replay.engine.batch import PackedBatch


@dataclass(frozen=True, slots=True)
class VarlenArguments:
    """int32 tensors: query_starts (N + 1,), used_keys (N,), block_table (N, widest table), 0 behind a row's end."""

    query_starts: torch.Tensor
    used_keys: torch.Tensor
    block_table: torch.Tensor
    max_queries: int
    max_keys: int


def varlen_arguments(batch: PackedBatch, device: torch.device) -> VarlenArguments:
    """Where each sequence's queries begin, how many keys it has, and in which blocks they lie."""
    widest = max(len(table) for table in batch.block_tables)
    rows = [[*table, *[0] * (widest - len(table))] for table in batch.block_tables]
    starts = [0, *(part.query_stop for part in batch.parts)]

    def tensor(values: object) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=device)

    return VarlenArguments(
        query_starts=tensor(starts),
        used_keys=tensor([part.num_keys for part in batch.parts]),
        block_table=tensor(rows),
        max_queries=max(part.num_queries for part in batch.parts),
        max_keys=max(part.num_keys for part in batch.parts),
    )
