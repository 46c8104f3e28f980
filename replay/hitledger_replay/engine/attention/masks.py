"""Which keys a query sees, and attention with the scores laid open for rules no fused kernel knows."""

import torch
import torch.nn.functional as F

from hitledger_replay.engine.attention.protocol import Rule


def visible(num_queries: int, num_keys: int, num_past: int, window: int | None, device: torch.device) -> torch.Tensor:
    """Boolean (num_queries, num_keys): query i stands at `num_past` + i among the keys."""
    distance = (num_past + torch.arange(num_queries, device=device))[:, None] - torch.arange(num_keys, device=device)
    seen = distance >= 0
    return seen if window is None else seen & (distance < window)


def attend_masked(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, rule: Rule
) -> torch.Tensor:
    """query (heads, Q, dim), key and value (kv_heads, K, dim) -> (heads, Q, value dim)."""
    if rule.needs_scores:
        return _attend_open(query, key, value, mask, rule)
    return F.scaled_dot_product_attention(
        query[None], key[None], value[None], attn_mask=mask, scale=rule.scale, enable_gqa=query.shape[0] != key.shape[0]
    )[0]


def _attend_open(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, rule: Rule
) -> torch.Tensor:
    """Scores, soft cap, mask, sink, softmax (in float32), product: the order of the models' own eager code."""
    groups = query.shape[0] // key.shape[0]
    key, value = key.repeat_interleave(groups, 0), value.repeat_interleave(groups, 0)
    scores = (query @ key.transpose(1, 2)).float() * rule.scale
    if rule.softcap is not None:
        scores = torch.tanh(scores / rule.softcap) * rule.softcap
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    if rule.sinks is not None:
        sink = rule.sinks.float().view(-1, 1, 1).expand(-1, scores.shape[1], 1)
        return (torch.softmax(torch.cat([scores, sink], -1), -1)[..., :-1]).to(value.dtype) @ value
    return torch.softmax(scores, -1).to(value.dtype) @ value
