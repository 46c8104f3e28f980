"""First in, first out, flat: the block inserted longest ago goes, used or not, parent or leaf.

The order of kvcache-simulator 0.1.3: a request's missing blocks are inserted front to back, and nothing is pinned.
A block is in the cache iff fewer than C blocks were inserted since it was.
"""

import numpy as np
import numpy.typing as npt

from hitledger_replay.traces.trace import Trace

NEVER = -(1 << 60)


def fifo_hit_blocks(trace: Trace, capacity: int) -> npt.NDArray[np.int64]:
    """int64[R]: hits with room for `capacity` blocks."""
    inserted_at = np.full(trace.num_keys, NEVER, dtype=np.int64)
    hits = np.zeros(trace.num_requests, dtype=np.int64)
    inserted = 0
    for request in range(trace.num_requests):
        blocks = trace.blocks(request)
        age = inserted - inserted_at[blocks]
        missing = age > capacity
        count = int(missing.sum())
        hits[request] = missing.argmax() if count else len(blocks)
        if (count < len(blocks) and int(age[~missing].max()) + count > capacity - 1) or count > capacity:
            inserted = _insert_one_by_one(blocks, inserted_at, inserted, capacity)
        else:
            inserted_at[blocks[missing]] = np.arange(inserted, inserted + count)
            inserted += count
    return hits


def _insert_one_by_one(
    blocks: npt.NDArray[np.int64], inserted_at: npt.NDArray[np.int64], inserted: int, capacity: int
) -> int:
    """A block of the request may go before its turn comes, and is then inserted again."""
    for block in blocks.tolist():
        if inserted - inserted_at[block] > capacity:
            inserted_at[block] = inserted
            inserted += 1
    return inserted
