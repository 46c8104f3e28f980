"""Which session a request belongs to, where the trace does not say."""

import numpy as np

from hitledger_replay.arrays import Ints
from hitledger_replay.traces.trace import UNNAMED, Trace


def sessions(trace: Trace) -> Ints:
    """int64[R]: the trace's own numbers, or inferred ones where it names none.

    A request continues the session whose latest request ended, in full blocks, furthest along its prompt. One whose
    last full block was there before ends in text that others share, so it marks no session.
    """
    if (trace.sessions != UNNAMED).any():
        return trace.sessions
    seen = np.zeros(trace.num_keys, dtype=np.bool_)
    owner = np.full(trace.num_keys, UNNAMED, dtype=np.int64)
    found = np.arange(trace.num_requests, dtype=np.int64)
    full = np.minimum(trace.num_blocks, trace.input_tokens // trace.block_size)
    for request in range(trace.num_requests):
        blocks = trace.blocks(request)[: full[request]]
        known = np.flatnonzero(owner[blocks] != UNNAMED)
        if len(known):
            found[request] = owner[blocks[known[-1]]]
        if len(blocks) and not seen[blocks[-1]]:
            owner[blocks[-1]] = found[request]
        seen[blocks] = True
    return found
