"""Counters of the prefix cache, in tokens, with vLLM's meaning and its mistakes left out.

`hits / queries` is the hit rate. Each request counts once, when it is first admitted: a retry after a full pool
counts nothing (vLLM #48860), and what a preempted request finds of its own blocks goes to `preempted_*` (#25780).
"""

from dataclasses import dataclass, field

from hitledger_replay.lookup import PrefixLookup
from hitledger_replay.moves import Tier


@dataclass(slots=True)
class CacheStats:
    """All token counts are of prompts at admission, except `decode_read_tokens`: what decode steps read, never a hit."""

    queries: int = 0
    hits: int = 0
    hits_by_tier: dict[Tier, int] = field(default_factory=dict)
    preempted_queries: int = 0
    preempted_hits: int = 0
    decode_read_tokens: int = 0
    num_copies: int = 0
    num_preemptions: int = 0
    num_evictions: int = 0

    def record_lookup(self, found: PrefixLookup, first: bool) -> None:
        """Count one admission; `first` is False for a sequence that was preempted before."""
        if not first:
            self.preempted_queries += found.num_tokens
            self.preempted_hits += found.num_cached_tokens
            return
        self.queries += found.num_tokens
        self.hits += found.num_cached_tokens
        block_size = found.num_cached_tokens // len(found.hits) if found.hits else 0
        for hit in found.hits:
            self.hits_by_tier[hit.tier] = self.hits_by_tier.get(hit.tier, 0) + block_size
