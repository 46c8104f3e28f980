"""The truth: gather, one boolean mask, one SDPA call a sequence. It computes the whole rectangle."""

import torch

from hitledger_replay.engine.attention.masks import attend_masked, visible
from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.batch import PackedBatch
from hitledger_replay.engine.store import KVStore


class ReferenceAttention:
    """Runs on every device."""

    name = "reference"
    reads_pages = False

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        outputs = []
        for part in batch.parts:
            keys = slice(part.key_start, part.key_start + part.num_keys)
            mask = visible(part.num_queries, part.num_keys, part.num_past, rule.window, query.device)
            own = query[:, part.query_start : part.query_stop]
            outputs.append(attend_masked(own, key[:, keys], value[:, keys], mask, rule).transpose(0, 1))
        return torch.cat(outputs)

    def attend_pages(
        self, query: torch.Tensor, store: KVStore, layer: int, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        key, value = store.gather(layer, batch.block_ids)
        return self.attend(query, key, value, batch, rule)
