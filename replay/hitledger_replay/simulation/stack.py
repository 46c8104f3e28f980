"""LRU at every capacity in one pass, by stack distance (Mattson et al., 1970), over runs of blocks instead of blocks.

A request uses its blocks last block first, so the first ones are the most recent. Then:

- a block was last used no later than the blocks in front of it, so a request's hits are runs of equal last use;
- of the blocks request r was the last to use, the ones still not used since are a tail of r's own chain, because
  every later use starts at the front. One number a request, how many are left, describes the whole LRU stack.

The stack distance of the i-th left block of r is i plus all that is left of requests after r. A block is hit by a
cache of C blocks iff its distance is at most C. Work is proportional to runs, of which a request has one or two.
A request larger than the cache keeps the C blocks nearest the front, as evicting leaves would.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hitledger_replay.simulation.fenwick import SuffixSums
from hitledger_replay.traces.trace import Trace

Ints = npt.NDArray[np.int64]


def lru_hit_blocks(trace: Trace, capacities: Ints) -> Ints:
    """int64[len(capacities), R]: the hits of every request at every capacity (blocks; a huge number for no limit)."""
    hits = np.zeros((trace.num_requests, len(capacities)), dtype=np.int64)
    for request, in_front, length in stack_runs(trace):
        hits[request] += np.clip(capacities - in_front, 0, length)
    return hits.T


def stack_runs(trace: Trace) -> Iterator[tuple[int, int, int]]:
    """(request, blocks more recent than this run, length of the run) for every run of hits of an unlimited cache."""
    last_use = np.full(trace.num_keys, -1, dtype=np.int32)
    left = SuffixSums(trace.num_requests)
    bounds = trace.starts.tolist()
    for request in range(trace.num_requests):
        blocks = trace.keys[bounds[request] : bounds[request + 1]]
        used = last_use[blocks]
        taken: list[tuple[int, int]] = []
        for owner, length in _runs(used):
            yield request, left.above(owner), length
            taken.append((owner, length))
        for owner, length in taken:
            left.add(owner, -length)
        left.add(request, len(blocks))
        last_use[blocks] = request


def _runs(used: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    """(request, number of blocks) for the stretches of equal last use, up to the first block never used."""
    if not len(used) or used[0] < 0:
        return []
    edges = np.flatnonzero(used[1:] != used[:-1]) + 1
    bounds = [0, *edges.tolist(), len(used)]
    owners = used[bounds[:-1]].tolist()
    lengths = [last - first for first, last in pairwise(bounds)]
    return [(owner, length) for owner, length in zip(owners, lengths, strict=True) if owner >= 0]
