"""What a token's cache is made of in a given model, and how many bytes that is.

One `LayerGroup` for each kind of layer. Elements kept for a token in one layer (source: the models' own attention
code, and vLLM 0.33 `v1/kv_cache_interface.py`):

    MHA, GQA, MQA   num_kv_heads * (head_dim of keys + head_dim of values), on every token
    sliding window  the same, on the last `window` tokens only
    MLA             kv_lora_rank + qk_rope_head_dim, once for all heads (DeepSeek-V2, arXiv 2405.04434)
    indexer         index_head_dim (DeepSeek-V3.2's sparse attention selects tokens with it)
    recurrent       nothing per token; `state_bytes` for each sequence, however long it is
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from hitledger.errors import UsageError
from hitledger_replay.dtypes import FLOAT32_BYTES, KVDtype, ScaleRule


class LayerKind(StrEnum):
    """What a layer keeps of the past."""

    FULL = "full"
    SLIDING = "sliding"
    LATENT = "latent"
    INDEXER = "indexer"
    RECURRENT = "recurrent"


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """`num_layers` equal layers. `window` is in tokens (None: all are kept); `state_bytes` per layer and sequence."""

    kind: LayerKind
    num_layers: int
    num_kv_heads: int = 0
    key_elements: int = 0
    """Per token and KV head; for LATENT and INDEXER per token."""
    value_elements: int = 0
    window: int | None = None
    state_bytes: int = 0

    @property
    def elements_per_token(self) -> int:
        """Cached elements of one token in one layer."""
        return max(1, self.num_kv_heads) * (self.key_elements + self.value_elements)

    def token_scale_bytes(self, dtype: KVDtype) -> int:
        """Scales stored with each token in one layer: float32, one for the keys and one for the values of each head."""
        if dtype.scales is not ScaleRule.PER_TOKEN_HEAD:
            return 0
        return max(1, self.num_kv_heads) * self.num_tensors * FLOAT32_BYTES

    @property
    def num_tensors(self) -> int:
        """2 where keys and values are stored apart, 1 for latents and indexer keys, 0 for recurrent state."""
        return (self.key_elements > 0) + (self.value_elements > 0)

    def retained(self, num_tokens: int) -> int:
        """How many of `num_tokens` are kept."""
        return num_tokens if self.window is None else min(num_tokens, self.window)

    def rank_share(self, tensor_parallel: int) -> "LayerGroup":
        """What one rank holds: heads are split, but every rank has at least one, so more ranks than heads hold copies.

        Latents and indexer keys belong to all heads and lie whole on every rank. Rule: max(1, heads // ranks), vLLM
        `get_num_kv_heads`, mini-sglang `div_even(allow_replicate=True)`. Raises UsageError if neither divides the other.
        """
        if self.num_kv_heads == 0:
            return self
        if self.num_kv_heads % tensor_parallel and tensor_parallel % self.num_kv_heads:
            raise UsageError(
                f"{self.num_kv_heads} KV heads cannot be split evenly over {tensor_parallel} ranks, and engines refuse it"
            )
        return replace(self, num_kv_heads=max(1, self.num_kv_heads // tensor_parallel))


@dataclass(frozen=True, slots=True)
class KVSpec:
    """The cache layout of one model. `weight_bytes` is None where it is not known exactly."""

    name: str
    model_type: str
    groups: tuple[LayerGroup, ...]
    dtype: str
    """Of the weights, and of the cache unless the cache is quantized."""
    num_attention_heads: int
    weight_bytes: int | None = None
    max_tokens: int | None = None

    @property
    def kinds(self) -> tuple[LayerKind, ...]:
        """Which kinds of state this model keeps."""
        return tuple(dict.fromkeys(group.kind for group in self.groups))

    def payload_bytes(self, num_tokens: int, dtype: KVDtype) -> int:
        """Bytes of keys, values and latents of one sequence of `num_tokens`; no scales, no fixed state."""
        elements = (g.num_layers * g.elements_per_token * g.retained(num_tokens) for g in self.groups)
        return sum(elements) * dtype.element_bytes

    def bytes_per_token(self, dtype: KVDtype) -> int:
        """Bytes one more token takes while every window still has room: sum of layers * elements * element_bytes."""
        return self.payload_bytes(1, dtype)

    def growth_bytes_per_token(self, dtype: KVDtype) -> int:
        """Bytes one more token takes once every window is full."""
        growing = (g for g in self.groups if g.window is None)
        return sum(g.num_layers * g.elements_per_token for g in growing) * dtype.element_bytes

    def scale_bytes(self, num_tokens: int, dtype: KVDtype) -> int:
        """Scales that are stored with the tokens of one sequence."""
        return sum(g.num_layers * g.token_scale_bytes(dtype) * g.retained(num_tokens) for g in self.groups)

    def fixed_scale_bytes(self, dtype: KVDtype) -> int:
        """Scales that are stored once: float32, one for keys and one for values in each layer (2 * layers * 4 bytes),
        one for a latent, whose two parts are one vector to vLLM's cache too."""
        if dtype.scales is not ScaleRule.PER_TENSOR:
            return 0
        return sum(g.num_layers * g.num_tensors for g in self.groups) * FLOAT32_BYTES

    def state_bytes(self) -> int:
        """Recurrent state of one sequence, the same for every length."""
        return sum(group.num_layers * group.state_bytes for group in self.groups)

    def sequence_bytes(self, num_tokens: int, dtype: KVDtype) -> int:
        """All that one sequence of `num_tokens` keeps: payload, its scales and its recurrent state."""
        return self.payload_bytes(num_tokens, dtype) + self.scale_bytes(num_tokens, dtype) + self.state_bytes()

    def rank(self, tensor_parallel: int) -> "KVSpec":
        """The layout on one of `tensor_parallel` equal ranks. Recurrent state is kept whole: its split is model code."""
        groups = tuple(group.rank_share(tensor_parallel) for group in self.groups)
        return replace(self, groups=groups, weight_bytes=None)
