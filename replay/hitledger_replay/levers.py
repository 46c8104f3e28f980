"""The four levers on cache memory and what each changes by itself. They are independent, so their factors multiply.

heads    bytes per token: fewer KV heads than query heads, or one latent for all of them
dtype    bytes per element
window   tokens kept
offload  share of the tokens that must lie on the device
"""

from dataclasses import dataclass, replace
from math import prod

from hitledger_replay.dtypes import KVDtype, kv_dtype
from hitledger_replay.spec import KVSpec, LayerKind

MLA_HEAD_DIM = 128
"""Head size of the multi-head attention that MLA is compared with (qk_nope and v heads of DeepSeek-V2 and V3)."""


@dataclass(frozen=True, slots=True)
class Lever:
    """`factor` is bytes with the lever / bytes without it; `limit` is what it costs or where it ends."""

    name: str
    factor: float
    limit: str


def levers(spec: KVSpec, dtype: KVDtype, num_tokens: int, device_share: float = 1.0) -> tuple[Lever, ...]:
    """What each lever of this model does at `num_tokens`; a factor of 1 means it is not pulled.

    `device_share` is the part of the tokens kept on the device when the rest is offloaded (1: no offload).
    """
    return (
        Lever("heads", _heads(spec), "below one KV head a rank, heads are copied instead of split"),
        Lever("dtype", dtype.element_bytes / kv_dtype(spec.dtype).element_bytes, "quality: measure it for the model"),
        Lever("window", _window(spec, dtype, num_tokens), "tokens outside the window cannot be read"),
        Lever("offload", device_share, "a hit has to be loaded before the layer that reads it"),
    )


def combined(pulled: tuple[Lever, ...]) -> float:
    """What is left when all levers act at once."""
    return prod(lever.factor for lever in pulled)


def _heads(spec: KVSpec) -> float:
    """Bytes per token against the same model with full multi-head attention; MLA against heads of `MLA_HEAD_DIM`."""
    growing = [group for group in spec.groups if group.kind in (LayerKind.FULL, LayerKind.SLIDING)]
    if growing and all(group.num_kv_heads for group in growing) and len(growing) == len(spec.groups):
        stored = sum(group.num_layers * group.num_kv_heads for group in growing)
        return stored / sum(group.num_layers * spec.num_attention_heads for group in growing)
    latent = [group for group in spec.groups if group.kind is LayerKind.LATENT]
    if latent and spec.num_attention_heads:
        return latent[0].key_elements / (2 * spec.num_attention_heads * MLA_HEAD_DIM)
    return 1.0


def _window(spec: KVSpec, dtype: KVDtype, num_tokens: int) -> float:
    unbounded = replace(spec, groups=tuple(replace(group, window=None) for group in spec.groups))
    full = unbounded.payload_bytes(num_tokens, dtype)
    return spec.payload_bytes(num_tokens, dtype) / full if full else 1.0
