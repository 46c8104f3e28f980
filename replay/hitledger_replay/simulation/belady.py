"""The offline bound: evict the block whose next use is furthest away, and do not insert one that is further still.

Belady's MIN with bypass. A block is never needed before the blocks in front of it, so the furthest next use is a leaf
and the prefix rule costs nothing. Among equals the deeper block goes.
"""

from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from hitledger_replay.traces.trace import Trace


def belady_hit_blocks(trace: Trace, capacity: int) -> npt.NDArray[np.int64]:
    """int64[R]: hits with room for `capacity` blocks and knowledge of the whole trace."""
    next_use = next_requests(trace).tolist()
    keys, bounds = trace.keys.tolist(), trace.starts.tolist()
    due: dict[int, int] = {}
    heap: list[tuple[int, int, int]] = []
    hits = np.zeros(trace.num_requests, dtype=np.int64)
    for request in range(trace.num_requests):
        first, last = bounds[request], bounds[request + 1]
        position = first
        while position < last and keys[position] in due:
            position += 1
        hits[request] = position - first
        for index in range(first, position):
            _schedule(due, heap, keys[index], next_use[index], index - first)
        for index in range(position, last):
            if len(due) >= capacity and not _evict(due, heap, next_use[index]):
                break
            _schedule(due, heap, keys[index], next_use[index], index - first)
    return hits


def next_requests(trace: Trace) -> npt.NDArray[np.int64]:
    """int64[N]: for every block reference the next request that uses the block; R + 1 for none."""
    never = trace.num_requests + 1
    upcoming = np.full(trace.num_keys, never, dtype=np.int64)
    following = np.empty(len(trace.keys), dtype=np.int64)
    for request in range(trace.num_requests - 1, -1, -1):
        part = slice(int(trace.starts[request]), int(trace.starts[request + 1]))
        following[part] = upcoming[trace.keys[part]]
        upcoming[trace.keys[part]] = request
    return following


def _schedule(due: dict[int, int], heap: list[tuple[int, int, int]], key: int, request: int, depth: int) -> None:
    due[key] = request
    heappush(heap, (-request, -depth, key))


def _evict(due: dict[int, int], heap: list[tuple[int, int, int]], candidate: int) -> bool:
    """Make room for a block that is used next by request `candidate`; False if all others are used no later."""
    while heap:
        request, _, key = heap[0]
        if due.get(key) != -request:
            heappop(heap)  # was used or evicted since
        elif -request <= candidate:
            return False
        else:
            heappop(heap)
            del due[key]
            return True
    return False
