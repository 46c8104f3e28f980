"""CUDA: torch's own variable-length flash attention, which reads the pages through the block table.

`torch.nn.attention.varlen.varlen_attn` (torch 2.13) takes pages of (num_blocks, block_size, kv_heads, dim), the tokens
used of each sequence, and `num_splits=1`, which makes a sequence's result independent of the rest of the batch. Its
causal mask is aligned to the end of the keys, which is what queries behind a cached prefix need. Half precision only.
"""

import torch

from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.attention.ragged import varlen_arguments
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.batch import PackedBatch
from hitledger_replay.engine.codec import PlainCodec
from hitledger_replay.engine.store import KVStore

HALF = (torch.bfloat16, torch.float16)


class VarlenAttention:
    """Falls back to the reference for what the kernel lacks: soft caps, sinks, other dtypes, values of another width."""

    name = "varlen"
    reads_pages = True

    def __init__(self) -> None:
        self._fallback = ReferenceAttention()

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        return self._fallback.attend(query, key, value, batch, rule)

    def attend_pages(
        self, query: torch.Tensor, store: KVStore, layer: int, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        key, value = store.pages(layer)
        plain = isinstance(store.codec, PlainCodec) and store.codec.storage == query.dtype
        if rule.needs_scores or query.dtype not in HALF or not plain or key.shape[-1] != value.shape[-1]:
            return self._fallback.attend_pages(query, store, layer, batch, rule)
        return paged_varlen(query, key, value, batch, rule)


def paged_varlen(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, batch: PackedBatch, rule: Rule
) -> torch.Tensor:
    """query (heads, T, dim), pages as in the store -> (T, heads, dim)."""
    from torch.nn.attention.varlen import varlen_attn

    arguments = varlen_arguments(batch, query.device)
    window = (-1, 0) if rule.window is None else (rule.window - 1, 0)
    out = varlen_attn(
        query.transpose(0, 1).contiguous(),
        key,
        value,
        arguments.query_starts,
        None,
        arguments.max_queries,
        arguments.max_keys,
        scale=rule.scale,
        window_size=window,
        enable_gqa=query.shape[0] != key.shape[2],
        seqused_k=arguments.used_keys,
        block_table=arguments.block_table,
        num_splits=1,
    )
    assert isinstance(out, torch.Tensor), "no auxiliary output was asked for"
    return out
