"""The simulator: three ways to the same LRU, bounds that hold on any trace, and the peer's numbers on the samples."""

from collections import OrderedDict
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from hitledger.errors import UsageError
from hitledger_replay.eviction import LeafLRU
from hitledger_replay.moves import Tier
from hitledger_replay.pool import BlockPool
from hitledger_replay.simulation.belady import Belady
from hitledger_replay.simulation.definitions import Definition, Window, count_hits
from hitledger_replay.simulation.fenwick import SuffixSums
from hitledger_replay.simulation.fifo import fifo_hit_blocks
from hitledger_replay.simulation.lifetime import lifetime_hit_blocks
from hitledger_replay.simulation.outcome import Outcome
from hitledger_replay.simulation.plan import Capacity, CapacityUnit, Plan, Policy, parse_capacities, parse_policies
from hitledger_replay.simulation.pooled import parents, pooled_hit_blocks
from hitledger_replay.simulation.report import simulate_report
from hitledger_replay.simulation.routing import Routing, assign, by_backend
from hitledger_replay.simulation.run import simulate
from hitledger_replay.simulation.stack import LRUStack
from hitledger_replay.simulation.tiered import tiered_hit_blocks
from hitledger_replay.tiers import TierStack
from hitledger_replay.traces.keys import chained_keys
from hitledger_replay.traces.mooncake import read_mooncake
from hitledger_replay.traces.trace import Trace

FIXTURES = Path(__file__).parent.parent / "fixtures" / "traces"
PATHS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=40)


def trace_of(paths: list[list[int]], block_size: int = 10) -> Trace:
    """Requests given as paths in a trie; each is whole blocks and arrives a second after the one before."""
    starts = np.array([0, *np.cumsum([len(path) for path in paths])])
    numbers: dict[tuple[int, ...], int] = {}
    flat = [numbers.setdefault(tuple(path[: i + 1]), len(numbers)) for path in paths for i in range(len(path))]
    keys, _ = chained_keys(np.array(flat), starts)
    tokens = np.array([len(path) * block_size for path in paths])
    ones = np.ones(len(paths), dtype=np.int64)
    return Trace(
        "t", block_size, keys, starts, tokens, ones, np.array([path[0] for path in paths]), np.arange(len(paths)) * 1.0
    )


def naive_lru(paths: list[list[int]], capacity: int) -> list[int]:
    """Leaf LRU by looking at everything: last use by request, of equals the deeper block first, never the current path."""
    used: dict[tuple[int, ...], int] = {}
    hits = []
    for time, path in enumerate(paths):
        blocks = [tuple(path[: i + 1]) for i in range(len(path))]
        hits.append(next((i for i, block in enumerate(blocks) if block not in used), len(blocks)))
        for block in blocks[: hits[-1]]:
            used[block] = time
        for block in blocks[hits[-1] :]:
            if len(used) >= capacity:
                leaves = [b for b in used if b not in blocks and not any(o[:-1] == b for o in used)]
                if not leaves:
                    break
                del used[min(leaves, key=lambda b: (used[b], -len(b)))]
            used[block] = time
    return hits


@settings(deadline=None, max_examples=200)
@given(PATHS, st.integers(1, 30))
def test_four_ways_to_lru_agree(paths: list[list[int]], capacity: int) -> None:
    """Stack distances, the pool with flat reverse order, the pool with leaf order, and looking at everything."""
    trace = trace_of(paths)
    expected = naive_lru(paths, capacity)
    assert LRUStack(trace).hit_blocks(capacity).tolist() == expected
    assert pooled_hit_blocks(trace, capacity).tolist() == expected
    assert pooled_hit_blocks(trace, capacity, LeafLRU(parents(trace).__getitem__)).tolist() == expected


@settings(deadline=None, max_examples=200)
@given(PATHS, st.integers(1, 30))
def test_unlimited_belady_lru_are_in_order(paths: list[list[int]], capacity: int) -> None:
    trace = trace_of(paths)
    stack = LRUStack(trace)
    unlimited, lru, more = (stack.hit_blocks(room).sum() for room in (None, capacity, capacity + 1))
    bound = Belady(trace).hit_blocks(capacity).sum()
    assert unlimited >= bound >= lru
    assert unlimited >= more >= lru
    for policy in (Policy.FIFO, Policy.LFU, Policy.SLRU, Policy.S3_FIFO):
        outcome = next(simulate(trace, Plan(policies=(policy,), capacities=(Capacity(capacity),))))
        assert outcome.hit_blocks.sum() <= bound


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=3), min_size=1, max_size=7), st.integers(1, 4))
def test_belady_is_the_best_of_all_choices(paths: list[list[int]], capacity: int) -> None:
    """Against the maximum over every set of blocks that could be kept after each request."""
    from itertools import combinations

    best: dict[frozenset[tuple[int, ...]], int] = {frozenset(): 0}
    for path in paths:
        blocks = [tuple(path[: i + 1]) for i in range(len(path))]
        following: dict[frozenset[tuple[int, ...]], int] = {}
        for kept, hits in best.items():
            found = next((i for i, block in enumerate(blocks) if block not in kept), len(blocks))
            union = kept | set(blocks)
            for size in range(min(capacity, len(union)) + 1):
                for choice in combinations(sorted(union), size):
                    chosen = frozenset(choice)
                    following[chosen] = max(following.get(chosen, 0), hits + found)
        best = following
    assert Belady(trace_of(paths)).hit_blocks(capacity).sum() == max(best.values())


def test_fifo_by_hand() -> None:
    """Room for 2: a, b fill it; using a again does not help; c pushes a out; a comes back and pushes b out."""
    trace = trace_of([[0], [1], [0], [2], [0], [1]])
    stack = LRUStack(trace)
    [hits] = fifo_hit_blocks(trace, [2], stack.hit_blocks(None))
    assert hits.tolist() == [0, 0, 1, 0, 0, 0]
    assert stack.hit_blocks(2).tolist() == [0, 0, 1, 0, 1, 0]


@settings(deadline=None, max_examples=200)
@given(PATHS, st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_fifo_at_many_capacities_is_a_queue(paths: list[list[int]], capacities: list[int]) -> None:
    trace = trace_of(paths)
    columns = list(fifo_hit_blocks(trace, capacities, LRUStack(trace).hit_blocks(None)))
    for capacity, hits in zip(capacities, columns, strict=True):
        queue: OrderedDict[int, None] = OrderedDict()
        for request, found in enumerate(hits.tolist()):
            blocks = trace.blocks(request).tolist()
            assert found == next((i for i, block in enumerate(blocks) if block not in queue), len(blocks))
            for block in blocks:
                if block not in queue:
                    queue[block] = None
                    if len(queue) > capacity:
                        queue.popitem(last=False)


def test_lifetime_by_hand() -> None:
    """Requests at 0, 1, 2, …: with 2 seconds a use two seconds ago still counts, three do not, and a hit renews."""
    hits = lifetime_hit_blocks(trace_of([[0, 1], [2], [0, 1], [2], [0], [2], [2], [0, 1]]), 2)
    assert hits.tolist() == [0, 0, 2, 1, 1, 1, 1, 0]


def test_an_endless_lifetime_is_an_unlimited_cache() -> None:
    trace = trace_of([[0, 1], [2], [0, 1, 1]])
    assert lifetime_hit_blocks(trace, float("inf")).tolist() == LRUStack(trace).hit_blocks(None).tolist() == [0, 0, 2]


# Hit tokens in the last half by kvcache-simulator 0.1.3 (its Python backend) on the two samples, 512-token blocks.
PEER = {
    ("mooncake-conversation-120", 60): (21504, 30720, 30720),
    ("mooncake-conversation-120", 100): (23552, 30720, 30720),
    ("mooncake-conversation-120", 200): (26624, 30720, 30720),
    ("mooncake-conversation-120", 400): (28672, 30720, 30720),
    ("mooncake-synthetic-80", 60): (14336, 14336, 47616),
    ("mooncake-synthetic-80", 100): (14336, 14336, 48832),
    ("mooncake-synthetic-80", 200): (43520, 43520, 48832),
    ("mooncake-synthetic-80", 400): (46080, 46080, 48832),
}


@pytest.mark.parametrize(("name", "capacity"), PEER)
def test_the_peer_finds_the_same(name: str, capacity: int) -> None:
    trace = read_mooncake(FIXTURES / f"{name}.jsonl")
    plan = Plan(policies=(Policy.FIFO, Policy.LRU, Policy.BELADY), capacities=(Capacity(capacity),))
    counts = [count_hits(trace, outcome, Definition.BLOCK_TOKENS, Window.LAST50) for outcome in simulate(trace, plan)]
    assert tuple(count.hits for count in counts) == PEER[name, capacity]
    assert {count.total for count in counts} == {{"m": 1033150, "s": 546830}["s" if "synth" in name else "m"]}


def test_six_definitions_by_hand() -> None:
    """Blocks of 10. 25 tokens, the same 25 again, then 20 of them and 10 others: 0, 3 and 2 blocks are found."""
    keys, starts = np.array([0, 1, 2, 0, 1, 2, 0, 1]), np.array([0, 3, 6, 8])
    zeros = np.zeros(3, dtype=np.int64)
    trace = Trace("t", 10, keys, starts, np.array([25, 25, 20]), zeros, zeros, zeros * 1.0)
    outcome = Outcome("lru", None, LRUStack(trace).hit_blocks(None))
    assert outcome.hit_blocks.tolist() == [0, 3, 2]
    counts = {definition: count_hits(trace, outcome, definition) for definition in Definition}
    assert [(count.hits, count.total) for count in counts.values()] == [
        (45, 70),  # 25 + 20 tokens
        (30, 70),  # 20 of 25, and 10 of 20: the last token is computed
        (5, 8),
        (2, 3),  # 0 + 1 + 1
        (2, 3),
        (45, 45),  # the first of three requests warms up
    ]
    assert counts[Definition.BLOCKS].rate == 0.625


def test_misses_and_hits_add_up_to_the_prompt() -> None:
    traces = [read_mooncake(FIXTURES / "mooncake-synthetic-80.jsonl")]
    report = simulate_report(traces, Plan(capacities=(Capacity(50), None), window=Window.LAST50))
    for row in report["results"]:
        assert row["hit_tokens"] + sum(row["misses"].values()) == row["total_tokens"]
    limited, unlimited = report["results"]
    assert (unlimited["misses"]["evicted"], limited["misses"]["never_seen"]) == (0, unlimited["misses"]["never_seen"])


def test_tiers_find_what_the_device_lost() -> None:
    """Device 3, host 2, disk 1, LRU: of the 6 blocks used before, nothing is lost; of the 9 before that, all is."""
    paths = [[0, 0, 0], [1, 1, 1], [0, 0, 0], [2, 2, 2], [3, 3, 3], [0, 0, 0]]
    hits = tiered_hit_blocks(trace_of(paths), 3, TierStack(2, 1))
    assert {tier: found.tolist()[2] for tier, found in hits.items()} == {Tier.DEVICE: 0, Tier.HOST: 2, Tier.DISK: 1}
    assert sum(found.tolist()[5] for found in hits.values()) == 0


@settings(deadline=None)
@given(PATHS, st.integers(8, 20), st.integers(1, 10), st.integers(1, 10))
def test_lower_tiers_never_cost_hits(paths: list[list[int]], device: int, host: int, disk: int) -> None:
    trace = trace_of(paths)
    hits = tiered_hit_blocks(trace, device, TierStack(host, disk))
    alone = [LRUStack(trace).hit_blocks(room) for room in (device, None)]
    assert alone[0].sum() <= sum(found.sum() for found in hits.values()) <= alone[1].sum()


def test_routing_by_hand() -> None:
    """Two sessions on two backends, in turn a a b b: round-robin splits both, sticky keeps both."""
    trace = trace_of([[0, 0], [0, 0, 1], [1, 1], [1, 1, 1]])
    assert assign(trace, 2, Routing.ROUND_ROBIN).tolist() == [0, 1, 0, 1]
    assert assign(trace, 2, Routing.STICKY).tolist() == [0, 0, 1, 1]
    assert assign(trace, 2, Routing.CACHE_AWARE).tolist() == [0, 0, 1, 1]
    for routing, found in ((Routing.ROUND_ROBIN, 0), (Routing.STICKY, 4), (Routing.CACHE_AWARE, 4)):
        outcome = next(simulate(trace, Plan(backends=2, routing=routing)))
        assert outcome.hit_blocks.sum() == found


def test_a_system_prompt_that_all_share_does_not_draw_them_to_one_backend() -> None:
    """One block of 11 is shared: below a tenth. The second request of each session follows its first."""
    sessions = [[9] + [number] * 10 for number in range(4)]
    trace = trace_of([*sessions, *sessions])
    assert assign(trace, 2, Routing.CACHE_AWARE).tolist() == [0, 1, 0, 1] * 2
    assert set(assign(trace_of([path[:10] for path in sessions]), 2, Routing.CACHE_AWARE).tolist()) == {0}


@settings(deadline=None)
@given(PATHS, st.integers(1, 4), st.sampled_from(Routing))
def test_every_request_has_one_backend_and_no_split_finds_more(
    paths: list[list[int]], backends: int, routing: Routing
) -> None:
    trace = trace_of(paths)
    parts = by_backend(trace, assign(trace, backends, routing), backends)
    assert sorted(request for requests, _ in parts for request in requests.tolist()) == list(range(len(paths)))
    outcome = next(simulate(trace, Plan(backends=backends, routing=routing)))
    assert outcome.hit_blocks.sum() <= LRUStack(trace).hit_blocks(None).sum()


def test_an_unrelated_namespace_never_raises_hits() -> None:
    paths = [[0, 1], [0, 2], [1, 1], [0, 1]]
    shifted = [[path[0] + 10 * (number % 2), *path[1:]] for number, path in enumerate(paths)]
    assert LRUStack(trace_of(shifted)).hit_blocks(None).sum() <= LRUStack(trace_of(paths)).hit_blocks(None).sum()


def test_memory_of_contiguous_regions_beside_blocks() -> None:
    report = simulate_report([trace_of([[0] * 5, [1] * 8], 10)], Plan())
    held = {row["layout"]: (row["live"], row["to_come"], row["never"]) for row in report["memory"]}
    assert held == {
        "contiguous-max": (130, 2, 30),  # regions of 81
        "contiguous-pow2": (130, 2, 64 + 81 - 132),
        "contiguous-oracle": (130, 2, 0),
        "paged": (130, 0, 0),
    }


def test_capacities_in_blocks_tokens_and_bytes() -> None:
    assert parse_capacities("7,inf", "", "", "") == (Capacity(7), None)
    assert Capacity(100_000, CapacityUnit.TOKENS).blocks(512) == 195
    (eighty,) = parse_capacities("", "", "80GB", "llama-3.1-8b")
    assert eighty is not None
    assert eighty.blocks(512) == 80 * 10**9 // (512 * 131_072)
    bad = [
        ("x", "", "", ""),
        ("-1", "", "", ""),
        ("1", "1", "", ""),
        ("", "", "1GB", ""),
        ("", "", "big", "llama-3.1-8b"),
    ]
    for options in bad:
        with pytest.raises(UsageError):
            parse_capacities(*options)
    for capacity in (Capacity(0), Capacity(511, CapacityUnit.TOKENS), Capacity(1 << 50)):
        with pytest.raises(UsageError):
            capacity.blocks(512)


def test_plans_that_make_no_sense() -> None:
    with pytest.raises(UsageError, match="known policies: lru"):
        parse_policies("lru,arc")
    with pytest.raises(UsageError, match="must be positive"):
        Plan(backends=0)
    for plan in (Plan(host_blocks=1), Plan(host_blocks=1, policies=(Policy.FIFO,), capacities=(Capacity(1),))):
        with pytest.raises(UsageError, match="tiers"):
            simulate_report([trace_of([[1]])], plan)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-5, 5)), max_size=30), st.integers(0, 9))
def test_suffix_sums(changes: list[tuple[int, int]], index: int) -> None:
    sums, plain = SuffixSums(10), [0] * 10
    for place, amount in changes:
        sums.add(place, amount)
        plain[place] += amount
    assert sums.above(index) == sum(plain[index + 1 :])


def test_control_forward_release_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releasing front to back loses heads and keeps tails nobody can reach."""
    paths = [[0, 0, 0], [1, 1], [0, 0, 0]]
    trace = trace_of(paths)
    assert pooled_hit_blocks(trace, 4).tolist() == naive_lru(paths, 4) == [0, 0, 2]
    real = BlockPool.release
    monkeypatch.setattr(BlockPool, "release", lambda pool, blocks: real(pool, list(reversed(blocks))))
    assert pooled_hit_blocks(trace, 4).tolist() == [0, 0, 0]
