"""Run a plan on a trace: one outcome for each policy and capacity."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from hitledger_replay.arrays import Ints
from hitledger_replay.simulation.belady import Belady
from hitledger_replay.simulation.fifo import fifo_hit_blocks
from hitledger_replay.simulation.lifetime import lifetime_hit_blocks
from hitledger_replay.simulation.outcome import Outcome
from hitledger_replay.simulation.plan import Plan, Policy
from hitledger_replay.simulation.routing import assign, by_backend
from hitledger_replay.simulation.stack import LRUStack
from hitledger_replay.traces.trace import Trace


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
        from hitledger_replay.simulation.pooled import eviction, pooled_hit_blocks  # what the others start without

        trace = self._trace
        return (pooled_hit_blocks(trace, capacity, eviction(trace, policy, capacity)) for capacity in capacities)
