"""Attention over one part of the keys at a time, and two such answers put together.

The softmax over all keys is the mean of the softmaxes over disjoint parts of them, weighted by the parts' sums of
exponentials (Milakov and Gimelshein, arXiv 1805.02867; the split keys of Flash-Decoding). With the logarithm of each
sum kept beside its answer this is exact, whatever the size of the scores. So keys that every query sees need no mask,
and without a mask the query heads of one KV head are just more queries: no key is repeated for them.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class PartialAttention:
    """output (heads, Q, dim) and, in at least float32, logsumexp (heads, Q) of the scores it comes from.

    A row that saw no key has output 0 and logsumexp -inf.
    """

    output: torch.Tensor
    logsumexp: torch.Tensor

    def merged(self, other: "PartialAttention") -> "PartialAttention":
        """The answer over both parts' keys. A row that neither part has seen stays such a row."""
        share = torch.sigmoid(other.logsumexp - self.logsumexp).nan_to_num(0.5)  # nan: -inf on both sides
        output = torch.lerp(self.output.to(share.dtype), other.output.to(share.dtype), share[..., None])
        return PartialAttention(output.to(self.output.dtype), torch.logaddexp(self.logsumexp, other.logsumexp))


def kernel_takes(query: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether `attend_part` can be used: its kernel is torch's for CPUs, and all head sizes must be equal."""
    return query.device.type == "cpu" and query.shape[-1] == value.shape[-1]


def attend_part(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float, causal: bool = False
) -> PartialAttention:
    """query (heads, Q, dim), key and value (kv_heads, K, dim); every query sees every key, or `causal`: Q = K and
    query i sees keys 0 to i.
    """
    groups = query.shape[0] // key.shape[0]
    queries = query
    if causal:
        key, value = key.repeat_interleave(groups, 0), value.repeat_interleave(groups, 0)
    else:
        queries = query.reshape(key.shape[0], groups * query.shape[1], query.shape[2])
    output, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        _rows(queries)[None], _rows(key)[None], _rows(value)[None], is_causal=causal, scale=scale
    )
    return PartialAttention(output[0].reshape(query.shape), logsumexp[0].reshape(query.shape[:2]))


def _rows(values: torch.Tensor) -> torch.Tensor:
    """The kernel reads one head of one token as consecutive elements, and does not check that they are."""
    return values if values.stride(-1) == 1 else values.contiguous()
