"""What of a prompt is there already, and why the rest is not. Reads the books, changes nothing.

The rule (vLLM 0.33 `kv_cache_manager.get_computed_blocks`): whole blocks only, from the front, without a gap, and at
most (n - 1) // block_size of them, since the last token must be computed to get its logits.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from hitledger_replay.misses import EvictionHistory, Miss, MissReason
from hitledger_replay.moves import Tier
from hitledger_replay.pool import BlockPool
from hitledger_replay.sequence import Sequence
from hitledger_replay.tiers import TierStack


@dataclass(frozen=True, slots=True)
class PrefixHit:
    """One block found: on the device as `block_id`, or on a lower tier (`block_id` None) from where it can be loaded."""

    tier: Tier
    block_id: int | None = None


@dataclass(frozen=True, slots=True)
class PrefixLookup:
    """`num_cached_tokens` = len(hits) * block_size; the tokens of `misses` are all others of the sequence."""

    num_tokens: int
    num_cached_tokens: int
    hits: tuple[PrefixHit, ...]
    misses: tuple[Miss, ...]


@dataclass(frozen=True, slots=True)
class Residency:
    """Where content can be: the books a lookup reads."""

    pool: BlockPool
    tiers: TierStack
    migrating: Mapping[Hashable, int]
    in_flight: Mapping[Hashable, int]
    evictions: EvictionHistory

    def hit(self, content: Hashable, load: bool) -> PrefixHit | None:
        """Where `content` can be taken from; only the device unless `load`."""
        block_id = self.pool.find(content)
        if block_id is not None:
            return PrefixHit(Tier.DEVICE, block_id)
        tier = self.tiers.find(content) if load and content not in self.migrating else None
        return None if tier is None else PrefixHit(tier)

    def miss_reason(self, content: Hashable) -> MissReason:
        """Why `content`, which no hit reached, was not taken."""
        if self.pool.find(content) is not None:
            return MissReason.BEHIND_GAP
        if content in self.migrating:
            return MissReason.MIGRATING
        if content in self.in_flight:
            return MissReason.IN_FLIGHT
        tier = self.tiers.find(content)
        if tier is not None:
            return MissReason.ON_HOST if tier is Tier.HOST else MissReason.ON_DISK
        return MissReason.EVICTED if self.evictions.find(content) else MissReason.NEVER_SEEN


def find_prefix(sequence: Sequence, books: Residency, load: bool = True) -> PrefixLookup:
    """Look up all tokens of `sequence`; with `load` blocks of lower tiers count as hits, without they are misses."""
    num_tokens, size = len(sequence), sequence.block_size
    hits: list[PrefixHit] = []
    for content in sequence.block_hashes[: max(num_tokens - 1, 0) // size]:
        hit = books.hit(content, load)
        if hit is None:
            break
        hits.append(hit)
    misses = _misses(sequence, books, len(hits), load)
    return PrefixLookup(num_tokens, len(hits) * size, tuple(hits), misses)


def _misses(sequence: Sequence, books: Residency, num_hits: int, load: bool) -> tuple[Miss, ...]:
    size, hashes = sequence.block_size, sequence.block_hashes
    misses: list[Miss] = []
    for index in range(num_hits, len(hashes)):
        content = hashes[index]
        last_and_reached = index == num_hits == len(hashes) - 1 and len(hashes) * size == len(sequence)
        if last_and_reached and books.hit(content, load) is not None:
            reason = MissReason.LAST_TOKEN_CAP
        else:
            reason = books.miss_reason(content)
        eviction = books.evictions.find(content) if reason is MissReason.EVICTED else None
        _extend(misses, Miss(reason, index * size, size, eviction))
    tail = len(sequence) - len(hashes) * size
    if tail:
        misses.append(Miss(MissReason.PARTIAL_BLOCK, len(hashes) * size, tail))
    return tuple(misses)


def _extend(misses: list[Miss], miss: Miss) -> None:
    """Add a miss, or lengthen the last one if it is the same story."""
    if misses and (misses[-1].reason, misses[-1].eviction) == (miss.reason, miss.eviction):
        last = misses.pop()
        miss = replace(last, num_tokens=last.num_tokens + miss.num_tokens)
    misses.append(miss)
