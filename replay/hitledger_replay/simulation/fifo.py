"""First in, first out, flat: the block inserted longest ago goes, used or not, parent or leaf.

The order of kvcache-simulator 0.1.3: a request's missing blocks are inserted front to back, and nothing is pinned, so
a block of the request may go before its turn comes, and is then inserted again. A block that was inserted as number i
(from 0) is in a cache of C blocks until i + C blocks were inserted. That is all there is to remember, so one pass over
the trace serves every capacity, a column each.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from hitledger_replay.arrays import Ints
from hitledger_replay.traces.trace import Trace

Bools = npt.NDArray[np.bool_]
MAX_CELLS = 1 << 25
"""Blocks times capacities of one pass (256 MiB); more capacities take more passes."""


def fifo_hit_blocks(trace: Trace, capacities: Sequence[int], seen: Ints) -> Iterator[Ints]:
    """int64[R] for each capacity: the hits with so much room, in blocks. `seen` int64[R] are an unlimited cache's."""
    columns = max(1, MAX_CELLS // max(1, trace.num_keys))
    for first in range(0, len(capacities), columns):
        yield from _one_pass(trace, np.array(capacities[first : first + columns], dtype=np.int64), seen).T


def _one_pass(trace: Trace, room: Ints, seen: Ints) -> Ints:
    """int64[R, C]. Blocks behind the seen ones are new to every cache and are inserted as one run."""
    inserted = np.zeros_like(room)
    until = np.full((trace.num_keys, len(room)), -1, dtype=np.int64)
    new = np.arange(int(trace.num_blocks.max(initial=0)))[:, np.newaxis] + room
    hits = np.repeat(seen[:, np.newaxis], len(room), axis=1)
    bounds = trace.starts.tolist()
    for request, known in enumerate(seen.tolist()):
        first, last = bounds[request], bounds[request + 1]
        blocks = trace.keys[first : first + known]
        stay = until[blocks]
        missing = stay < inserted
        if missing.any():
            missing, turn = _pushed_out(missing, stay, inserted)
            some = turn[-1] > 0
            hits[request, some] = missing.argmax(axis=0)[some]
            until[blocks] = np.where(missing, turn + (inserted + room - 1), stay)
            inserted += turn[-1]
        fresh = last - first - known
        until[trace.keys[first + known : last]] = new[:fresh] + inserted
        inserted += fresh
    return hits


def _pushed_out(missing: Bools, stay: Ints, inserted: Ints) -> tuple[Bools, Ints]:
    """Which blocks are missing when their turn comes, and how many are up to each.

    Every insertion may push a later block of the request out, so they are found in rounds: what is missing in front of
    a block is settled before the block is, and most requests take one round.
    """
    while True:
        turn = missing.cumsum(axis=0)
        later = stay < turn + inserted - missing
        if (later == missing).all():
            return missing, turn
        missing = later
