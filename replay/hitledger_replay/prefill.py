"""What a prefix hit saves of a prefill: floating-point operations, bytes to load, and the time both take.

n tokens of prompt, p of them cached, h = p / n. Linear work falls with the tokens, 1 - h; causal attention falls with
the pairs, 1 - h^2, because the new tokens still attend to the cached ones. So a hit never saves attention and linear
work alike, and time to first token is not proportional to the hit rate.
"""

from dataclasses import dataclass


def attention_pairs(num_tokens: int, num_cached: int) -> int:
    """Query-key pairs the uncached tokens compute under a causal mask: (n-p)*p + (n-p)*(n-p+1)/2."""
    new = num_tokens - num_cached
    return new * num_cached + new * (new + 1) // 2


def attention_flops(num_tokens: int, num_cached: int, num_layers: int, num_heads: int, head_dim: int) -> int:
    """QK^T and PV, a multiply and an add each: 4 * layers * query heads * head_dim for each pair."""
    return 4 * num_layers * num_heads * head_dim * attention_pairs(num_tokens, num_cached)


def linear_flops(num_tokens: int, num_cached: int, num_parameters: int, hidden: int = 0, vocab: int = 0) -> int:
    """Matrix products of the uncached tokens: 2 * parameters each, and 2 * hidden * vocab for the last token's logits."""
    return 2 * num_parameters * (num_tokens - num_cached) + 2 * hidden * vocab


@dataclass(frozen=True, slots=True)
class Mooncake:
    """The cost model of Mooncake (FAST'25, eq. 1 and 2): a d p^2 + b d^2 p operations a layer, d the model dimension."""

    model_dim: int = 8192
    gqa_ratio: int = 8
    element_bytes: int = 2
    attention_factor: int = 4
    linear_factor: int = 22

    def layer_flops(self, num_tokens: int) -> int:
        """Operations of one layer for a prompt of `num_tokens`, the attention counted as a full square."""
        return self.attention_factor * self.model_dim * num_tokens**2 + (
            self.linear_factor * self.model_dim**2 * num_tokens
        )

    def saved_share(self, num_tokens: int, num_cached: int) -> float:
        """Share of the prefill operations that a cached prefix saves (eq. 1)."""
        return self.layer_flops(num_cached) / self.layer_flops(num_tokens)

    def attention_share(self, num_tokens: int) -> float:
        """Share of the operations that are attention: a n / (a n + b d)."""
        attention = self.attention_factor * num_tokens
        return attention / (attention + self.linear_factor * self.model_dim)

    def break_even_bandwidth(self, num_cached: int, flops_per_second: float) -> float:
        """Bytes per second above which loading the prefix is faster than computing it (eq. 2):

        B / G > 2 d s / (gqa (a p d + b d^2)).
        """
        work = self.attention_factor * num_cached * self.model_dim + self.linear_factor * self.model_dim**2
        return 2 * self.model_dim * self.element_bytes / (self.gqa_ratio * work) * flops_per_second


def remaining_share(hit_rate: float, attention_share: float) -> float:
    """What is left of the prefill's operations: w_linear (1 - h) + w_attention (1 - h^2)."""
    return (1 - attention_share) * (1 - hit_rate) + attention_share * (1 - hit_rate**2)


def overlapped_seconds(compute: float, load: float, num_layers: int) -> float:
    """Layer-wise loading under the computation: the longer of both, and one layer of the shorter to fill the pipe."""
    return max(compute, load) + min(compute, load) / num_layers


def ideal_speedup(hit_rate: float) -> float:
    """Prefill throughput against no cache if work were proportional to tokens: 1 / (1 - h). An upper bound."""
    return 1 / (1 - hit_rate)


def session_hit_rate(turns: int, system_increments: int = 0) -> tuple[int, int]:
    """Hit and prompt tokens of an append-only session, in units of one turn's tokens, nothing ever lost.

    Turn t sends S + t units and finds the S + t - 1 of the turn before, so without a system prompt the hit rate is
    (T - 1) / (T + 1). The first turn finds nothing.
    """
    prompts = [system_increments + turn for turn in range(1, turns + 1)]
    return sum(prompts[:-1]), sum(prompts)
