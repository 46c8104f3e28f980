"""The offline bound: evict the block whose next use is furthest away, and do not insert one that is further still.

Belady's MIN with bypass. A block is never needed before the blocks in front of it, so the furthest next use is a leaf
and the prefix rule costs nothing; among equals the deeper block goes. It follows that the cached blocks whose next
use is request t are the first so many of t's own chain: one number for each t is the whole state of the cache, and
they are t's hits when it comes. Work is proportional to runs of equal next use, not to blocks.
"""

from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from hitledger_replay.arrays import Ints
from hitledger_replay.traces.trace import Trace

Run = tuple[int, int]


class Belady:
    """The trace's runs of equal next use; they serve every capacity."""

    def __init__(self, trace: Trace) -> None:
        self._num_requests = trace.num_requests
        self._runs = next_use_runs(trace)

    def hit_blocks(self, capacity: int) -> Ints:
        """int64[R]: hits with room for `capacity` blocks and knowledge of the whole trace."""
        due = _Due(capacity, self._num_requests)
        hits = [due.use(request, runs) for request, runs in enumerate(self._runs)]
        return np.array(hits, dtype=np.int64)


def next_use_runs(trace: Trace) -> list[list[Run]]:
    """For each request the stretches of its blocks with equal next use: (next request, blocks).

    Blocks without a next use are left out; they are the last of a request, since none is needed before those in front.
    """
    following = next_requests(trace)
    edges = np.ones(len(following), dtype=np.bool_)
    edges[1:] = following[1:] != following[:-1]
    edges[trace.starts[:-1][trace.starts[:-1] < len(following)]] = True
    first = np.flatnonzero(edges)
    lengths = np.diff(first, append=len(following))
    needed = following[first] < trace.num_requests
    runs = list(zip(following[first[needed]].tolist(), lengths[needed].tolist(), strict=True))
    bounds = np.searchsorted(first[needed], trace.starts).tolist()
    return [runs[begin:end] for begin, end in pairwise(bounds)]


def next_requests(trace: Trace) -> Ints:
    """int64[N]: for every block reference the next request that uses the block; R for none."""
    upcoming = np.full(trace.num_keys, trace.num_requests, dtype=np.int64)
    following = np.empty(len(trace.keys), dtype=np.int64)
    for request in range(trace.num_requests - 1, -1, -1):
        part = slice(int(trace.starts[request]), int(trace.starts[request + 1]))
        following[part] = upcoming[trace.keys[part]]
        upcoming[trace.keys[part]] = request
    return following


class _Due:
    """How many cached blocks each future request will find."""

    def __init__(self, capacity: int, num_requests: int) -> None:
        self._count = [0] * num_requests
        self._furthest: list[int] = []  # negated; requests without cached blocks are skipped when they surface
        self._room = capacity

    def use(self, request: int, runs: list[Run]) -> int:
        """Request `request` uses its blocks; returns its hits. `runs` say when they are used next.

        What nobody uses again is room: it would be the first to go.
        """
        hits = left = self._count[request]
        self._count[request] = 0
        for following, length in runs:
            kept = min(length, left)
            left -= kept
            kept += self._insert(length - kept, following)
            if kept and not self._count[following]:
                heappush(self._furthest, -following)
            self._count[following] += kept
            if kept < length:
                break
        self._room += left
        return hits

    def _insert(self, wanted: int, following: int) -> int:
        """Find room for up to `wanted` blocks that are used next by `following`, at the cost of later ones only."""
        found = min(wanted, self._room)
        self._room -= found
        while found < wanted and self._furthest and -self._furthest[0] > following:
            later = -self._furthest[0]
            evicted = min(self._count[later], wanted - found)
            self._count[later] -= evicted
            found += evicted
            if not self._count[later]:
                heappop(self._furthest)
        return found
