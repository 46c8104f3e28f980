"""Several backends that share nothing: which one serves a request decides what it can reuse."""

from enum import StrEnum

import numpy as np

from hitledger.errors import UsageError
from hitledger_replay.arrays import Ints
from hitledger_replay.traces.sessions import sessions
from hitledger_replay.traces.trace import Trace

MATCH_SHARE = 0.1
"""Default of Ray Serve's prefix-aware router (`match_rate_threshold`)."""
MAX_CELLS = 1 << 31
"""Bytes that the router's index may take: one for each block and backend."""


class Routing(StrEnum):
    """ROUND_ROBIN in turn; STICKY by session; CACHE_AWARE to the longest prefix the router sent there before."""

    ROUND_ROBIN = "round-robin"
    STICKY = "sticky"
    CACHE_AWARE = "cache-aware"


def assign(trace: Trace, backends: int, routing: Routing) -> Ints:
    """int64[R]: the backend of each request.

    STICKY gives a new session the backend with the fewest sessions. CACHE_AWARE remembers all it sent, as a router's
    prefix index does. A prefix counts from a tenth of the prompt on: one that everybody shares, such as a system
    prompt, would draw all requests to one backend. Without one, and among equals, the backend that got the fewest
    tokens is taken.
    Raises UsageError where that index would not fit in memory.
    """
    if routing is Routing.ROUND_ROBIN:
        return np.arange(trace.num_requests, dtype=np.int64) % backends
    if routing is Routing.STICKY:
        _, session = np.unique(sessions(trace), return_inverse=True)
        first = np.full(int(session.max()) + 1, -1, dtype=np.int64)
        for request, number in enumerate(session.tolist()):
            if first[number] < 0:
                first[number] = request
        turn = np.argsort(np.argsort(first))
        return np.asarray(turn[session] % backends, dtype=np.int64)
    return _cache_aware(trace, backends)


def _cache_aware(trace: Trace, backends: int) -> Ints:
    if backends * trace.num_keys > MAX_CELLS:
        raise UsageError(f"{trace.name}: cache-aware routing over {backends} backends needs too much memory")
    sent = np.zeros((backends, trace.num_keys), dtype=np.bool_)
    load = [0] * backends
    chosen = np.zeros(trace.num_requests, dtype=np.int64)
    for request in range(trace.num_requests):
        blocks = trace.blocks(request)
        prefixes = np.logical_and.accumulate(sent[:, blocks], axis=1).sum(axis=1)
        prefixes[prefixes < MATCH_SHARE * len(blocks)] = 0
        backend = min(range(backends), key=lambda b: (-int(prefixes[b]), load[b]))
        chosen[request] = backend
        load[backend] += int(trace.input_tokens[request])
        sent[backend, blocks] = True
    return chosen


def by_backend(trace: Trace, assignment: Ints, backends: int) -> list[tuple[Ints, Trace]]:
    """For each backend that serves any: the requests it gets and the trace of them."""
    parts = [np.flatnonzero(assignment == backend) for backend in range(backends)]
    return [(requests, trace.select(requests)) for requests in parts if len(requests)]
