"""What a simulation found, before anybody decides what to call a hit rate."""

from dataclasses import dataclass

from hitledger_replay.arrays import Ints


@dataclass(frozen=True, slots=True)
class Outcome:
    """`hit_blocks` int64[R]: for each request the blocks found from the front without a gap, a partial last one too.

    `capacity_blocks` is None for an unlimited cache.
    """

    policy: str
    capacity_blocks: int | None
    hit_blocks: Ints
