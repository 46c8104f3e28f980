"""One query a sequence, every sequence over as many slots as the longest: no shape depends on how long they are."""

from dataclasses import replace

import torch

from hitledger_replay.engine.attention.masks import attend_masked
from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.batch import PackedBatch


class PaddedAttention(ReferenceAttention):
    """Decode for steps that are recorded: what changes from step to step is read from tensors alone."""

    name = "padded"

    def __init__(self, used_keys: torch.Tensor) -> None:
        """`used_keys` (N,): how many of a sequence's slots hold its keys, its newest token's being the last."""
        self._used_keys = used_keys

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        heads, rows, dim = query.shape
        used = self._used_keys[:, None]
        slot = torch.arange(key.shape[1] // rows, device=key.device)
        seen = slot < used if rule.window is None else (slot < used) & (slot >= used - rule.window)
        mask = seen[:, None, None].expand(rows, heads, 1, -1).flatten(0, 1)
        each = rule if rule.sinks is None else replace(rule, sinks=rule.sinks.repeat(rows))
        queries = query.transpose(0, 1).reshape(rows * heads, 1, dim)
        return attend_masked(queries, _by_row(key, seen), _by_row(value, seen), mask, each).view(rows, heads, -1)


def _by_row(stream: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """(kv_heads, N * slots, dim) -> (N * kv_heads, slots, dim). What lies in unused slots may be anything, NaN too."""
    by_row = stream.reshape(stream.shape[0], *seen.shape, stream.shape[-1]).transpose(0, 1)
    return by_row.masked_fill(~seen[:, None, :, None], 0.0).flatten(0, 1)
