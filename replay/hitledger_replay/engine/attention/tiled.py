"""Attention that skips what the causal mask hides: tiles of queries, each over the keys it can see.

A mask over the whole rectangle costs (n - p) * n products for n - p new tokens behind p cached ones; the causal area
is (n - p) * p + (n - p)(n - p + 1) / 2, that is 1 - h**2 of the cold square's half at hit rate h = p / n (Mooncake,
FAST'25, Eq. 1). Tiles of T queries take at most (n - p) * T / 2 products more than that area.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from hitledger_replay.engine.attention.masks import attend_masked, visible
from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.batch import PackedBatch, Part

TILE = 256


class TiledAttention(ReferenceAttention):
    """The fast path on CPUs; with tiles of 1 it computes exactly the causal area."""

    name = "tiled"

    def __init__(self, tile: int = TILE) -> None:
        self.tile = tile

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        outputs = [out for part in batch.parts for out in self._part(query, key, value, part, rule)]
        return torch.cat(outputs)

    def _part(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, part: Part, rule: Rule
    ) -> Iterator[torch.Tensor]:
        own = query[:, part.query_start : part.query_stop]
        keys = key[:, part.key_start : part.key_start + part.num_keys]
        values = value[:, part.key_start : part.key_start + part.num_keys]
        windowed = rule.window is not None and rule.window < part.num_keys
        if part.num_past == 0 and part.num_queries > 1 and not windowed and not rule.needs_scores:
            yield _causal(own, keys, values, rule.scale).transpose(0, 1)
            return
        for first in range(0, part.num_queries, self.tile):
            stop = min(first + self.tile, part.num_queries)
            last_key = part.num_past + stop
            first_key = max(0, part.num_past + first - rule.window + 1) if rule.window is not None else 0
            num_keys, num_past = last_key - first_key, part.num_past + first - first_key
            mask = visible(stop - first, num_keys, num_past, rule.window, query.device) if stop - first > 1 else None
            tile = attend_masked(
                own[:, first:stop], keys[:, first_key:last_key], values[:, first_key:last_key], mask, rule
            )
            yield tile.transpose(0, 1)


def _causal(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float) -> torch.Tensor:
    """Nothing cached: the kernel's own causal skipping."""
    gqa = query.shape[0] != key.shape[0]
    return F.scaled_dot_product_attention(
        query[None], key[None], value[None], is_causal=True, scale=scale, enable_gqa=gqa
    )[0]
