"""Why a token of a prompt was not reused. Every token that is not hit has exactly one reason.

"Not found", "not on the device", "on its way" and "evicted" are four different states with four different costs;
a report that calls them all "miss" cannot say what would help.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class MissReason(StrEnum):
    """The state of the block a token lies in, or the rule that forbids its reuse."""

    NEVER_SEEN = "never_seen"
    EVICTED = "evicted"
    ON_HOST = "on_host"
    ON_DISK = "on_disk"
    MIGRATING = "migrating"
    """Being loaded from another tier for somebody else."""
    IN_FLIGHT = "in_flight"
    """Being computed by a sequence that is still at it."""
    BEHIND_GAP = "behind_gap"
    """On the device, but a block in front of it is not, so the chain does not reach it."""
    PARTIAL_BLOCK = "partial_block"
    """The tokens behind the last full block: n mod block_size."""
    LAST_TOKEN_CAP = "last_token_cap"
    """All blocks are there, but the last token must be computed to get logits, and hits are whole blocks."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """When and for whom a block was evicted. `step` counts admissions of the cache, from 1."""

    step: int
    by: str
    policy: str


class EvictionHistory:
    """The latest evictions of contents that have not come back. What lies further back counts as never seen.

    The limit bounds memory: about 300 bytes an entry, so 2 ** 20 of them are some 300 MB at most.
    """

    def __init__(self, limit: int = 1 << 20) -> None:
        self._limit = limit
        self._latest: OrderedDict[Hashable, Eviction] = OrderedDict()

    def record(self, content: Hashable, eviction: Eviction) -> None:
        """`content` left the device."""
        self._latest[content] = eviction
        self._latest.move_to_end(content)
        if len(self._latest) > self._limit:
            self._latest.popitem(last=False)

    def returned(self, content: Hashable) -> None:
        """`content` is on the device again."""
        self._latest.pop(content, None)

    def find(self, content: Hashable) -> Eviction | None:
        """Its latest eviction, if that is why it is not there."""
        return self._latest.get(content)

    def __len__(self) -> int:
        return len(self._latest)


@dataclass(frozen=True, slots=True)
class Miss:
    """A run of tokens with one reason. `first_token` is its offset in the prompt, `eviction` set if EVICTED."""

    reason: MissReason
    first_token: int
    num_tokens: int
    eviction: Eviction | None = None


def missed_tokens(misses: Iterable[Miss]) -> dict[MissReason, int]:
    """Sum tokens by reason. The values add up to the prompt's tokens minus its hit."""
    totals: dict[MissReason, int] = {}
    for miss in misses:
        totals[miss.reason] = totals.get(miss.reason, 0) + miss.num_tokens
    return totals
