"""Any eviction policy, through the block pool the engine uses.

Sequential replay: each request looks up, shares its hit, allocates the rest, computes at once and is done. A request
larger than the pool keeps the blocks nearest the front.
"""

import numpy as np

from hitledger_replay.arrays import Ints
from hitledger_replay.eviction import LFU, S3FIFO, SLRU, LeafLRU
from hitledger_replay.eviction.protocol import EvictionPolicy
from hitledger_replay.pool import BlockPool
from hitledger_replay.simulation.plan import Policy
from hitledger_replay.traces.trace import Trace

PROTECTED_SHARE = 0.8
"""Part of the capacity that SLRU protects, as in its first description and in common caches."""


def pooled_hit_blocks(trace: Trace, capacity: int, policy: EvictionPolicy | None = None) -> Ints:
    """int64[R]: hits in a pool of `capacity` usable blocks under `policy` (default LRU)."""
    pool = BlockPool(capacity + 1, policy)
    keys, bounds = trace.keys.tolist(), trace.starts.tolist()
    hits = np.zeros(trace.num_requests, dtype=np.int64)
    for request in range(trace.num_requests):
        blocks = keys[bounds[request] : bounds[request + 1]]
        found = pool.find_prefix(blocks)
        hits[request] = len(found)
        pool.share(found)
        kept = blocks[:capacity]
        fresh = pool.allocate(len(kept) - len(found))
        for block_id, key in zip(fresh, kept[len(found) :], strict=True):
            pool.publish(block_id, key)
        pool.release([*found, *fresh])
    return hits


def eviction(trace: Trace, policy: Policy, capacity: int) -> EvictionPolicy:
    """A fresh policy for a pool of `capacity` blocks that serves `trace`."""
    if policy is Policy.LFU:
        return LFU()
    if policy is Policy.SLRU:
        return SLRU(int(capacity * PROTECTED_SHARE))
    if policy is Policy.S3_FIFO:
        return S3FIFO(capacity)
    assert policy is Policy.LEAF_LRU, "all other policies have simulators of their own"
    return LeafLRU(parents(trace).__getitem__)


def parents(trace: Trace) -> dict[object, int]:
    """The key in front of each key; -1 for first blocks."""
    before = np.concatenate([[-1], trace.keys[:-1]])
    before[trace.starts[:-1][trace.starts[:-1] < len(trace.keys)]] = -1
    return dict(zip(trace.keys.tolist(), before.tolist(), strict=True))
