"""LRU at every capacity in one pass, by stack distance (Mattson et al., 1970), over runs of blocks instead of blocks.

A request uses its blocks last block first, so the first ones are the most recent. Then:

- a block was last used no later than the blocks in front of it, so a request's hits are runs of equal last use;
- of the blocks request r was the last to use, the ones still not used since are a tail of r's own chain, because
  every later use starts at the front. One number a request, how many are left, describes the whole LRU stack.

The stack distance of the i-th left block of r is i plus all that is left of requests after r. A block is hit by a
cache of C blocks iff its distance is at most C. Work is proportional to runs, of which a request has one or two.
A request larger than the cache keeps the C blocks nearest the front, as evicting leaves would.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hitledger_replay.arrays import Ints
from hitledger_replay.simulation.fenwick import SuffixSums
from hitledger_replay.traces.trace import Trace


class LRUStack:
    """The runs of hits of an unlimited cache, each with the number of blocks more recent than its first one."""

    def __init__(self, trace: Trace) -> None:
        self._num_requests = trace.num_requests
        requests: list[int] = []
        in_front: list[int] = []
        lengths: list[int] = []
        last_use = np.full(trace.num_keys, -1, dtype=np.int32)
        left = SuffixSums(trace.num_requests)
        for request, (first, last) in enumerate(pairwise(trace.starts.tolist())):
            blocks = trace.keys[first:last]
            runs = _runs(last_use[blocks])
            for owner, length in runs:
                requests.append(request)
                in_front.append(left.above(owner))
                lengths.append(length)
            for owner, length in runs:
                left.add(owner, -length)
            left.add(request, last - first)
            last_use[blocks] = request
        self._requests, self._in_front, self._lengths = (
            np.array(column, dtype=np.int64) for column in (requests, in_front, lengths)
        )

    def hit_blocks(self, capacity: int | None) -> Ints:
        """int64[R]: the hits of every request with room for `capacity` blocks (None: no limit)."""
        hit = self._lengths if capacity is None else np.clip(capacity - self._in_front, 0, self._lengths)
        return np.bincount(self._requests, weights=hit, minlength=self._num_requests).astype(np.int64)


def _runs(used: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    """(request, number of blocks) for the stretches of equal last use, up to the first block never used."""
    if not len(used) or used[0] < 0:
        return []
    bounds = [0, *((used[1:] != used[:-1]).nonzero()[0] + 1).tolist(), len(used)]
    owners = used[bounds[:-1]].tolist()
    return [(owner, last - first) for owner, (first, last) in zip(owners, pairwise(bounds), strict=True) if owner >= 0]
