"""Runs packed batches through a transformers model over the store."""

from typing import Any

import torch
from transformers import AttentionInterface

from hitledger_replay.engine.attention.protocol import AttentionBackend
from hitledger_replay.engine.batch import PackedBatch
from hitledger_replay.engine.calling import call_model
from hitledger_replay.engine.hooks import ATTENTION_NAME, PagedLayerCache, Step, current_step, paged_attention
from hitledger_replay.engine.store import KVStore

AttentionInterface.register(ATTENTION_NAME, paged_attention)


class Runner:
    """Owns the model's attention setting; the store's contents belong to the block tables."""

    def __init__(self, model: Any, store: KVStore, backend: AttentionBackend) -> None:
        """`model` is a transformers causal model in eval mode on the store's device. It is set to paged attention."""
        self.model = model
        self.store = store
        self.backend = backend
        self._expands = getattr(model.config.get_text_config(), "kv_lora_rank", None) is not None
        model.set_attn_implementation(ATTENTION_NAME)

    @torch.inference_mode()
    def forward(self, batch: PackedBatch, backend: AttentionBackend | None = None) -> torch.Tensor:
        """Compute every token of the batch; returns logits (len(batch.logits_index), vocabulary)."""
        step = Step(self.store, batch, backend or self.backend, self._expands)
        index = batch.logits_index
        if not len(index):
            index = torch.zeros(1, dtype=torch.long, device=batch.token_ids.device)
        token = current_step.set(step)
        try:
            logits = call_model(
                self.model,
                batch.token_ids,
                batch.position_ids,
                cache=PagedLayerCache(step),
                logits_index=index,
            )
        finally:
            current_step.reset(token)
        return logits[: len(batch.logits_index)]
