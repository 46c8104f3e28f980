"""How many bytes one cached element takes, and what its quantization adds."""

from dataclasses import dataclass
from enum import StrEnum

from hitledger.errors import UsageError

FLOAT32_BYTES = 4


class ScaleRule(StrEnum):
    """How often a scale is stored. PER_TENSOR: one for keys and one for values in each layer, whatever the tokens."""

    NONE = "none"
    PER_TENSOR = "per_tensor"
    PER_TOKEN_HEAD = "per_token_head"


@dataclass(frozen=True, slots=True)
class KVDtype:
    """`element_bytes` of payload; scales are float32 and follow `scales`."""

    name: str
    element_bytes: int
    scales: ScaleRule = ScaleRule.NONE


KV_DTYPES = {
    dtype.name: dtype
    for dtype in (
        KVDtype("fp32", 4),
        KVDtype("bf16", 2),
        KVDtype("fp16", 2),
        KVDtype("fp8", 1, ScaleRule.PER_TENSOR),
        KVDtype("int8", 1, ScaleRule.PER_TOKEN_HEAD),
    )
}
"""fp8 with per-tensor scales is vLLM's `kv_cache_dtype=fp8`; int8 needs a scale for each token and head to be usable."""


def kv_dtype(name: str) -> KVDtype:
    """Look a dtype up by its short or torch name. Raises UsageError for others."""
    aliases = {
        "float32": "fp32",
        "bfloat16": "bf16",
        "float16": "fp16",
        "half": "fp16",
        "fp8_e4m3": "fp8",
        "float8_e4m3fn": "fp8",
    }
    dtype = KV_DTYPES.get(aliases.get(name.lower(), name.lower()))
    if dtype is None:
        raise UsageError(f"unknown KV dtype {name!r}; known: {', '.join(KV_DTYPES)}")
    return dtype
