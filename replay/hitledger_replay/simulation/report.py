"""The answer of `hitledger simulate`: one row for each trace, policy, capacity and definition, and sums over traces."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hitledger.errors import UsageError
from hitledger_replay.arrays import Ints
from hitledger_replay.misses import MissReason
from hitledger_replay.simulation.definitions import Count, Definition, count_hits, hit_tokens, measured
from hitledger_replay.simulation.held import Held, held_by, sums_of
from hitledger_replay.simulation.outcome import Outcome
from hitledger_replay.simulation.plan import Plan
from hitledger_replay.simulation.run import simulate
from hitledger_replay.simulation.stack import LRUStack
from hitledger_replay.traces.trace import Trace

ALL = "all"
SUMMARISED = (Definition.BLOCK_TOKENS, Definition.BLOCKS)
"""Definitions whose quartiles over traces are always given: by tokens, and by blocks as in published tables."""


@dataclass(frozen=True, slots=True)
class Row:
    """`hit_tokens` of `total_tokens` were found; `count` is what the definition makes of it. None: no limit."""

    trace: str
    policy: str
    capacity_blocks: int | None
    block_size: int
    requests: int
    hit_tokens: int
    total_tokens: int
    misses: dict[str, int]
    count: Count
    hit_tokens_by_tier: dict[str, int]

    @property
    def group(self) -> tuple[Any, ...]:
        """Rows of the same group differ in their trace only."""
        return self.policy, self.capacity_blocks, self.block_size, self.count.definition

    def to_json(self) -> dict[str, Any]:
        """The row with its hit rate; `hits` and `total` are in the definition's unit."""
        row = {name: value for name, value in asdict(self).items() if name != "count"}
        count = self.count
        return {**row, "hit_rate": count.rate, "definition": count.definition, "unit": count.unit} | (
            {"hits": count.hits, "total": count.total} if count.unit != "tokens" else {}
        )


def simulate_report(traces: Iterable[Trace], plan: Plan) -> dict[str, Any]:
    """Simulate every trace by itself. With more than one, rows named "all" add them up, and `summary` has quartiles."""
    rows: list[Row] = []
    memory: list[Held] = []
    names: set[str] = set()
    for trace in traces:
        rows.extend(_rows(trace, plan))
        memory.extend(held_by(trace))
        names.add(trace.name)
    several = len(names) > 1
    if several and ALL in names:
        raise UsageError(f"a trace is named {ALL!r}, as the sums over traces are; give the file another name")
    asked = [row for row in rows if row.count.definition in plan.definitions]
    return {
        "schema_version": 1,
        "window": plan.window,
        "backends": plan.backends,
        "routing": plan.routing if plan.backends > 1 else None,
        "evidence": "exact for the trace; sequential replay, every request done before the next is looked up",
        "results": [row.to_json() for row in [*(map(_sum, _groups(asked)) if several else ()), *asked]],
        "summary": [_quartiles(group) for group in _groups(rows)] if several else [],
        "memory": [held.to_json() for held in [*(sums_of(memory, ALL) if several else ()), *memory]],
    }


def _rows(trace: Trace, plan: Plan) -> Iterator[Row]:
    part = measured(trace, plan.window)
    stack = LRUStack(trace)
    ideal = hit_tokens(trace, stack.hit_blocks(None))
    for outcome, tiers in _outcomes(trace, plan, stack):
        hit = hit_tokens(trace, outcome.hit_blocks)
        by_tier = {tier: int(np.minimum(found * trace.block_size, hit)[part].sum()) for tier, found in tiers.items()}
        for definition in dict.fromkeys((*plan.definitions, *SUMMARISED)):
            yield Row(
                trace=trace.name,
                policy=outcome.policy,
                capacity_blocks=outcome.capacity_blocks,
                block_size=trace.block_size,
                requests=len(hit[part]),
                hit_tokens=int(hit[part].sum()),
                total_tokens=int(trace.input_tokens[part].sum()),
                misses=_misses(trace, outcome, ideal, part),
                count=count_hits(trace, outcome, definition, plan.window),
                hit_tokens_by_tier=by_tier,
            )


def _outcomes(trace: Trace, plan: Plan, stack: LRUStack) -> Iterator[tuple[Outcome, dict[str, Ints]]]:
    """Every outcome, with the hits of each tier where there are tiers."""
    if plan.host_blocks or plan.disk_blocks:
        from hitledger_replay.simulation.tiered import simulate_tiers  # needs the pool, which is slow to load

        for outcome, tiers in simulate_tiers(trace, plan):
            yield outcome, {tier.value: found for tier, found in tiers.items()}
    else:
        yield from ((outcome, {}) for outcome in simulate(trace, plan, stack))


def _misses(trace: Trace, outcome: Outcome, ideal: Ints, part: slice) -> dict[str, int]:
    """Why tokens were not found. Evicted (or expired, or on another backend): an unlimited single cache had them."""
    covered = np.minimum(trace.num_blocks * trace.block_size, trace.input_tokens)
    hit = hit_tokens(trace, outcome.hit_blocks)
    return {
        MissReason.NEVER_SEEN.value: int((covered - ideal)[part].sum()),
        MissReason.EVICTED.value: int((ideal - hit)[part].sum()),
        MissReason.PARTIAL_BLOCK.value: int((trace.input_tokens - covered)[part].sum()),
    }


def _groups(rows: list[Row]) -> Iterator[list[Row]]:
    for key in dict.fromkeys(row.group for row in rows):
        yield [row for row in rows if row.group == key]


def _sum(group: list[Row]) -> Row:
    count = group[0].count
    for row in group[1:]:
        count += row.count
    misses = {reason: sum(row.misses[reason] for row in group) for reason in group[0].misses}
    tiers = {tier: sum(row.hit_tokens_by_tier[tier] for row in group) for tier in group[0].hit_tokens_by_tier}
    first = group[0]
    requests, hit, total = (
        sum(column) for column in zip(*((r.requests, r.hit_tokens, r.total_tokens) for r in group), strict=True)
    )
    return Row(ALL, first.policy, first.capacity_blocks, first.block_size, requests, hit, total, misses, count, tiers)


def _quartiles(group: list[Row]) -> dict[str, Any]:
    """Distribution of the hit rate over traces, each trace counting once (linear interpolation, as numpy's default)."""
    rates = np.array([row.count.rate for row in group])
    low, median, high = np.percentile(rates, (25, 50, 75)).tolist()
    first = group[0]
    return {
        "policy": first.policy,
        "capacity_blocks": first.capacity_blocks,
        "block_size": first.block_size,
        "definition": first.count.definition,
        "traces": len(rates),
        "min": float(rates.min()),
        "p25": low,
        "median": median,
        "p75": high,
        "max": float(rates.max()),
        "mean": float(rates.mean()),
    }
