"""Run a plan on a trace: one outcome for each policy and capacity."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hitledger.errors import UsageError
from hitledger_replay.eviction import LFU, S3FIFO, SLRU, LeafLRU
from hitledger_replay.eviction.protocol import EvictionPolicy
from hitledger_replay.moves import Tier
from hitledger_replay.simulation.belady import Belady
from hitledger_replay.simulation.fifo import fifo_hit_blocks
from hitledger_replay.simulation.lifetime import lifetime_hit_blocks
from hitledger_replay.simulation.outcome import Outcome
from hitledger_replay.simulation.plan import Plan, Policy
from hitledger_replay.simulation.pooled import pooled_hit_blocks
from hitledger_replay.simulation.routing import assign, by_backend
from hitledger_replay.simulation.stack import LRUStack
from hitledger_replay.simulation.tiered import tiered_hit_blocks
from hitledger_replay.tiers import TierStack
from hitledger_replay.traces.trace import Trace

Ints = npt.NDArray[np.int64]
PROTECTED_SHARE = 0.8
"""Part of the capacity that SLRU protects, as in its first description and in common caches."""


def simulate(trace: Trace, plan: Plan, stack: LRUStack | None = None) -> Iterator[Outcome]:
    """Every outcome the plan asks for. With several backends each has the capacity for itself.

    `stack` is that of the whole trace, where the caller has it already.
    """
    parts = [_Part(np.arange(trace.num_requests), trace, stack)]
    if plan.backends > 1:
        split = by_backend(trace, assign(trace, plan.backends, plan.routing), plan.backends)
        parts = [_Part(requests, part) for requests, part in split]
    for policy in plan.policies:
        capacities = (None,) if policy is Policy.LIFETIME else plan.blocks(trace.block_size)
        found = [part.hit_blocks(policy, capacities, plan.lifetime_seconds) for part in parts]
        for capacity, *hits_of_parts in zip(capacities, *found, strict=True):
            hits = np.zeros(trace.num_requests, dtype=np.int64)
            for part, hits_of_part in zip(parts, hits_of_parts, strict=True):
                hits[part.requests] = hits_of_part
            yield Outcome(policy, capacity, hits)


def simulate_tiers(trace: Trace, plan: Plan) -> Iterator[tuple[Outcome, dict[Tier, Ints]]]:
    """LRU on the device with host and disk below, for each limited capacity: all hits, and the hits of each tier."""
    if plan.policies != (Policy.LRU,) or plan.backends > 1:
        raise UsageError("tiers are simulated for LRU on one backend")
    for capacity in plan.blocks(trace.block_size):
        if capacity is None:
            raise UsageError("tiers below the device need a limited device: give --capacity-blocks")
        found = tiered_hit_blocks(trace, capacity, TierStack(plan.host_blocks, plan.disk_blocks))
        yield Outcome(Policy.LRU, capacity, np.sum([*found.values()], axis=0)), found


class _Part:
    """The requests that one backend serves. What serves several capacities is computed once, when first asked for."""

    def __init__(self, requests: Ints, trace: Trace, stack: LRUStack | None = None) -> None:
        self.requests = requests
        self._trace = trace
        self._stack = stack

    @cached_property
    def _lru(self) -> LRUStack:
        return self._stack or LRUStack(self._trace)

    @cached_property
    def _belady(self) -> Belady:
        return Belady(self._trace)

    def hit_blocks(self, policy: Policy, capacities: Sequence[int | None], lifetime: float) -> Iterator[Ints]:
        """int64[R] of this part for each capacity. Where nothing is evicted, no policy differs from another."""
        if policy is Policy.LIFETIME:
            yield from (lifetime_hit_blocks(self._trace, lifetime) for _ in capacities)
            return
        limited = [capacity for capacity in capacities if capacity is not None and capacity < self._trace.num_keys]
        found = dict(zip(limited, self._limited(policy, limited), strict=True))
        unlimited = self._lru.hit_blocks(None)
        yield from (unlimited if capacity is None else found.get(capacity, unlimited) for capacity in capacities)

    def _limited(self, policy: Policy, capacities: Sequence[int]) -> Iterable[Ints]:
        """The same where blocks are evicted."""
        if policy is Policy.LRU:
            return map(self._lru.hit_blocks, capacities)
        if policy is Policy.BELADY:
            return map(self._belady.hit_blocks, capacities)
        if policy is Policy.FIFO:
            return fifo_hit_blocks(self._trace, capacities, self._lru.hit_blocks(None))
        trace = self._trace
        return (pooled_hit_blocks(trace, capacity, _pool_policy(trace, policy, capacity)) for capacity in capacities)


def _pool_policy(trace: Trace, policy: Policy, capacity: int) -> EvictionPolicy:
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
