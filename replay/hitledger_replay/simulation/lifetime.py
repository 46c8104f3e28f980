"""An unlimited cache whose entries live for a time after their last use, as the providers' do."""

import numpy as np

from hitledger_replay.arrays import Ints
from hitledger_replay.traces.trace import Trace


def lifetime_hit_blocks(trace: Trace, seconds: float) -> Ints:
    """int64[R]: blocks last used at most `seconds` before the request. Every use, a hit too, starts the time anew."""
    last_use = np.full(trace.num_keys, np.nan)  # never used; compares as gone with every time
    hits = np.zeros(trace.num_requests, dtype=np.int64)
    for request, time in enumerate(trace.times.tolist()):
        blocks = trace.blocks(request)
        gone = ~(last_use[blocks] >= time - seconds)
        hits[request] = gone.argmax() if gone.any() else len(blocks)
        last_use[blocks] = time
    return hits
