"""What admitting a sequence gave, and the two ways to take its blocks back."""

from dataclasses import dataclass
from enum import StrEnum

from hitledger_replay.lookup import PrefixHit
from hitledger_replay.misses import Miss
from hitledger_replay.moves import Tier


class PreemptMode(StrEnum):
    """RECOMPUTE drops the blocks (what is still cached on resume is found again); SWAP saves them in host memory."""

    RECOMPUTE = "recompute"
    SWAP = "swap"


@dataclass(frozen=True, slots=True)
class Admission:
    """`num_cached_tokens` need no computing; the tokens of `misses` are the others, each with its reason."""

    num_cached_tokens: int
    hits: tuple[PrefixHit, ...]
    misses: tuple[Miss, ...]

    def hit_blocks(self, tier: Tier) -> int:
        """How many of the hit blocks came from `tier`."""
        return sum(hit.tier is tier for hit in self.hits)
