"""How cached values are stored: as they are, in 16 bits, or in 8 bits with one scale a tensor."""

from dataclasses import dataclass
from typing import Protocol

import torch

from hitledger.errors import UsageError
from hitledger_replay.dtypes import FLOAT32_BYTES

FP8_MAX = 448.0
HEADROOM = 2.0
"""A scale is set by a short prompt; longer ones may be larger. One bit of the exponent is left for that."""


class Codec(Protocol):
    """Between the model's values and the stored ones."""

    @property
    def storage(self) -> torch.dtype:
        """Of the stored elements."""

    @property
    def num_scale_bytes(self) -> int:
        """Bytes of scales beside the blocks."""

    def encode(self, layer: int, part: int, values: torch.Tensor) -> torch.Tensor:
        """`part` is 0 for keys and 1 for values. The shape stays."""

    def decode(self, layer: int, part: int, stored: torch.Tensor) -> torch.Tensor:
        """Back to the model's dtype."""


@dataclass(frozen=True, slots=True)
class PlainCodec:
    """Stores in `storage`, reads back in `compute`."""

    storage: torch.dtype
    compute: torch.dtype
    num_scale_bytes: int = 0

    def encode(self, layer: int, part: int, values: torch.Tensor) -> torch.Tensor:
        return values.to(self.storage)

    def decode(self, layer: int, part: int, stored: torch.Tensor) -> torch.Tensor:
        return stored.to(self.compute)


class Fp8Codec:
    """float8 e4m3 with one float32 scale for keys and one for values in each layer (vLLM's `kv_cache_dtype=fp8`).

    A latent of MLA and its rotary key are one cached vector in two parts, and share one scale, as in vLLM. The bytes
    are kept as uint8, since few operators index float8.
    """

    storage = torch.uint8

    def __init__(self, peaks: tuple[tuple[float, ...], ...], compute: torch.dtype) -> None:
        """`peaks` are the largest |key| and |value| of each layer, or one for both (`probe.layer_peaks`)."""
        self.compute = compute
        self.scales = tuple(tuple(max(peak, 1e-12) * HEADROOM / FP8_MAX for peak in parts) for parts in peaks)
        self.num_scale_bytes = FLOAT32_BYTES * sum(map(len, peaks))

    def encode(self, layer: int, part: int, values: torch.Tensor) -> torch.Tensor:
        scaled = (values.float() / self._scale(layer, part)).clamp(-FP8_MAX, FP8_MAX)
        return scaled.to(torch.float8_e4m3fn).view(torch.uint8)

    def decode(self, layer: int, part: int, stored: torch.Tensor) -> torch.Tensor:
        return (stored.view(torch.float8_e4m3fn).float() * self._scale(layer, part)).to(self.compute)

    def _scale(self, layer: int, part: int) -> float:
        return self.scales[layer][min(part, len(self.scales[layer]) - 1)]


STORAGE = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def codec_for(name: str, compute: torch.dtype, peaks: tuple[tuple[float, ...], ...] = ()) -> Codec:
    """The codec for `model` (the compute dtype), fp32, bf16, fp16 or fp8. Raises UsageError for others."""
    if name == "model":
        return PlainCodec(compute, compute)
    if name == "fp8":
        return Fp8Codec(peaks, compute)
    if name not in STORAGE:
        raise UsageError(f"unknown KV dtype {name!r}; the engine stores model, {', '.join(STORAGE)} or fp8")
    return PlainCodec(STORAGE[name], compute)
