"""Device, host and disk: which tier each block of a request was found on."""

from collections.abc import Iterator

import numpy as np

from hitledger.errors import UsageError
from hitledger_replay.arrays import Ints
from hitledger_replay.moves import Tier
from hitledger_replay.pool import BlockPool
from hitledger_replay.simulation.outcome import Outcome
from hitledger_replay.simulation.plan import Plan, Policy
from hitledger_replay.tiers import TierStack
from hitledger_replay.traces.trace import Trace


def simulate_tiers(trace: Trace, plan: Plan) -> Iterator[tuple[Outcome, dict[Tier, Ints]]]:
    """LRU on the device with host and disk below, for each limited capacity: all hits, and the hits of each tier."""
    if plan.policies != (Policy.LRU,) or plan.backends > 1:
        raise UsageError("tiers are simulated for LRU on one backend")
    for capacity in plan.blocks(trace.block_size):
        if capacity is None:
            raise UsageError("tiers below the device need a limited device: give --capacity-blocks")
        room = min(capacity, max(1, trace.num_keys))
        found = tiered_hit_blocks(trace, room, TierStack(plan.host_blocks, plan.disk_blocks))
        yield Outcome(Policy.LRU, capacity, np.sum([*found.values()], axis=0)), found


def tiered_hit_blocks(trace: Trace, device: int, tiers: TierStack) -> dict[Tier, Ints]:
    """int64[R] for each tier: blocks of the prefix found there. `device` is in blocks; the policy is LRU on every tier.

    A block found below is loaded, so it takes a device block as a computed one does.
    """
    pinned: set[int] = set()

    def evicted(block_id: int, content: object) -> None:
        assert isinstance(content, int), "a trace's keys are the contents"
        tiers.offload(block_id, content, pinned)

    pool = BlockPool(device + 1, on_evict=evicted)
    hits = {tier: np.zeros(trace.num_requests, dtype=np.int64) for tier in Tier}
    for request in range(trace.num_requests):
        blocks = trace.blocks(request).tolist()
        shared: list[int] = []
        table: list[tuple[int, int | None]] = []
        for key in blocks[:device]:
            block_id = pool.find(key)
            tier = Tier.DEVICE if block_id is not None else tiers.find(key)
            if tier is None:
                break
            hits[tier][request] += 1
            table.append((key, block_id))
            if block_id is None:
                tiers.touch(key)
            else:
                shared.append(block_id)
        table += [(key, None) for key in blocks[len(table) : device]]
        pool.share(shared)
        pinned.update(key for key, block_id in table if block_id is None)
        fresh = iter(pool.allocate(len(table) - len(shared)))
        pinned.clear()
        owned = [next(fresh) if block_id is None else block_id for _, block_id in table]
        for (key, _), block_id in zip(table, owned, strict=True):
            pool.publish(block_id, key)
        pool.release(owned)
    return hits
