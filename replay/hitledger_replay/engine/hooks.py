"""The two places where an unmodified transformers model meets the store: its cache and its attention function.

The model calls `PagedLayerCache.update` with the keys and values of the packed row (after rotary embedding, heads not
repeated) and gets back all it needs, gathered in token order; then the registered function is called with the queries
and with what `update` returned. No mask is built for a name transformers does not know, so causality, windows and
padding are decided here alone. Signatures hold from transformers 4.57 to 5.24.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch

from hitledger_replay.engine.attention.protocol import AttentionBackend, Rule
from hitledger_replay.engine.batch import PackedBatch
from hitledger_replay.engine.store import KVStore

ATTENTION_NAME = "hitledger_paged"


@dataclass(frozen=True, slots=True)
class Step:
    """What both hooks need to know in one forward pass."""

    store: KVStore
    batch: PackedBatch
    backend: AttentionBackend
    expands: bool
    """True for MLA: the layer expands what it cached, so pages cannot be attended to directly."""

    @property
    def gathers(self) -> bool:
        """Whether `update` must return the whole stream."""
        return self.expands or not self.backend.reads_pages


current_step: ContextVar[Step] = ContextVar("current_step")
"""Set around each forward pass: not every model hands extra arguments on to its attention (GPT-2 before 5.0)."""


class PagedLayerCache:
    """Stands where transformers expects a cache; has only what its models call."""

    is_compileable = False

    def __init__(self, step: Step) -> None:
        self._step = step

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """key and value (1, heads, T, dim) are stored; returns the gathered stream in the same form, or them."""
        step, batch = self._step, self._step.batch
        step.store.write(layer_idx, batch.write_blocks, batch.write_offsets, key[0], value[0])
        if not step.gathers:
            return key, value
        keys, values = step.store.gather(layer_idx, batch.block_ids)
        return keys[None], values[None]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Positions are always given, so nothing may be inferred from a length."""
        return 0


def paged_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """query (1, heads, T, dim) -> (1, T, heads, value dim). Raises LookupError outside of a step."""
    step = current_step.get()
    scale = scaling if scaling is not None else float(query.shape[-1]) ** -0.5
    rule = Rule(scale, sliding_window, softcap, s_aux)
    if step.gathers:
        return step.backend.attend(query[0], key[0], value[0], step.batch, rule)[None], None
    return step.backend.attend_pages(query[0], step.store, module.layer_idx, step.batch, rule)[None], None
