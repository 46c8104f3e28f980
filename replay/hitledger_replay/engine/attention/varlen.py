"""CUDA: torch's own variable-length flash attention, over the pages themselves or over what was gathered from them.

`torch.nn.attention.varlen.varlen_attn` (torch 2.13) takes the tokens used of each sequence and `num_splits=1`, which
makes a sequence's result independent of the rest of the batch. Its causal mask is aligned to the end of the keys, which
is what queries behind a cached prefix need. Half precision only. Pages go through a block table, and FlashAttention 2
takes none smaller than 256 tokens (torch `flash_attn/flash_api.cpp`, `mha_varlen_fwd`).
"""

import torch

from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.attention.ragged import VarlenArguments, varlen_arguments
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.attention.tiled import TiledAttention
from hitledger_replay.engine.batch import PackedBatch
from hitledger_replay.engine.codec import PlainCodec
from hitledger_replay.engine.store import KVStore

DEVICE = "cuda"
HALF = (torch.bfloat16, torch.float16)
PAGE_TOKENS = 256
HEAD_DIM_STEP, MAX_HEAD_DIM = 8, 256


class VarlenAttention:
    """What the kernel lacks (soft caps, sinks, other dtypes, values of another width) goes to another back end."""

    name = "varlen"
    reads_pages = True

    def __init__(self, fallback: ReferenceAttention | None = None, fixed: VarlenArguments | None = None) -> None:
        """`fixed`: tensors that hold good for every batch, because somebody fills them before each step."""
        self._fallback = fallback or TiledAttention()
        self._fixed = fixed
        self._last: tuple[PackedBatch, VarlenArguments] | None = None

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        if not kernel_takes(query, value, rule):
            return self._fallback.attend(query, key, value, batch, rule)
        size = key.shape[1] // len(batch.block_ids)
        return flash(query, key.transpose(0, 1), value.transpose(0, 1), self._arguments(batch, size), rule)

    def attend_pages(
        self, query: torch.Tensor, store: KVStore, layer: int, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        key, value = store.pages(layer)
        plain = isinstance(store.codec, PlainCodec) and store.codec.storage == query.dtype
        if not plain or store.block_size % PAGE_TOKENS or not kernel_takes(query, value, rule):
            return self.attend(query, *store.gather(layer, batch.block_ids), batch, rule)
        return flash(query, key, value, self._arguments(batch, store.block_size), rule, paged=True)

    def _arguments(self, batch: PackedBatch, block_size: int) -> VarlenArguments:
        """Built once a batch, not once a layer."""
        if self._fixed is not None:
            return self._fixed
        if self._last is None or self._last[0] is not batch:
            self._last = batch, varlen_arguments(batch, block_size, batch.token_ids.device)
        return self._last[1]


def kernel_takes(query: torch.Tensor, value: torch.Tensor, rule: Rule) -> bool:
    """Whether the kernel knows the rule, the dtype and the head size."""
    width = query.shape[-1]
    fits = width == value.shape[-1] and width % HEAD_DIM_STEP == 0 and width <= MAX_HEAD_DIM
    return fits and query.device.type == DEVICE and query.dtype in HALF and not rule.needs_scores


def flash(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    arguments: VarlenArguments,
    rule: Rule,
    paged: bool = False,
) -> torch.Tensor:
    """query (heads, T, dim); key and value (gathered tokens, kv_heads, dim), or `paged` as in the store
    -> (T, heads, dim)."""
    from torch.nn.attention.varlen import varlen_attn

    out = varlen_attn(
        query.transpose(0, 1).contiguous(),
        key,
        value,
        arguments.query_starts,
        None if paged else arguments.key_starts,
        arguments.max_queries,
        arguments.max_keys,
        scale=rule.scale,
        window_size=(-1, 0) if rule.window is None else (rule.window - 1, 0),
        enable_gqa=query.shape[0] != key.shape[-2],
        seqused_k=arguments.used_keys,
        block_table=arguments.block_table if paged else None,
        num_splits=1,
    )
    assert isinstance(out, torch.Tensor), "no auxiliary output was asked for"
    return out
