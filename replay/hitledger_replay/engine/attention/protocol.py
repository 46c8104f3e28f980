"""What a back end is given and what it gives back."""

from dataclasses import dataclass
from typing import Protocol

import torch

from hitledger_replay.engine.batch import PackedBatch
from hitledger_replay.engine.store import KVStore


@dataclass(frozen=True, slots=True)
class Rule:
    """How one layer attends. `window` counts the query itself: a query sees keys with 0 <= distance < window."""

    scale: float
    window: int | None = None
    softcap: float | None = None
    sinks: torch.Tensor | None = None
    """One logit a query head that takes part in the softmax and has no value (gpt-oss)."""

    @property
    def needs_scores(self) -> bool:
        """True if the scores must be seen between the product and the softmax."""
        return self.softcap is not None or self.sinks is not None


class AttentionBackend(Protocol):
    """Causal attention of a packed batch. `reads_pages`: it takes keys from the store itself, so nothing is gathered
    for it (where the layer hands over the keys it cached; MLA layers expand what they cached, and always gather)."""

    name: str
    reads_pages: bool

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        """query (heads, T, dim), key and value (kv_heads, gathered tokens, dim) -> (T, heads, value dim)."""

    def attend_pages(
        self, query: torch.Tensor, store: KVStore, layer: int, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        """The same from the pages of `layer`. Only called if `reads_pages`."""
