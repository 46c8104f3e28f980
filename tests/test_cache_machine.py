"""The paged cache under any order of operations, checked against a store that writes (token, position) into every slot.

The store carries out the moves as tensors would. Whatever happened, each running sequence must read back its own
tokens at positions 0, 1, 2, …; freed blocks are poisoned, so a stale read shows.
"""

import re
from collections import Counter, deque
from collections.abc import Hashable
from functools import partial
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hitledger_replay.admission import PreemptMode
from hitledger_replay.blockhash import CacheIdentity, hash_full_blocks, root_hash
from hitledger_replay.cache import PagedCache
from hitledger_replay.errors import CorruptPoolError, OutOfBlocksError, OutOfSwapError
from hitledger_replay.events import CacheEvent, SequenceEvent, Stage, cached_hashes
from hitledger_replay.misses import missed_tokens
from hitledger_replay.moves import (
    CopyBlock,
    DemoteBlock,
    DropBlock,
    DropSwap,
    LoadBlock,
    Move,
    OffloadBlock,
    SwapIn,
    SwapOut,
    Tier,
)
from hitledger_replay.sequence import Sequence, SequenceState
from hitledger_replay.tiers import TierStack

SIZE = 4
NUM_BLOCKS = 13
ROOTS = (root_hash(CacheIdentity("m", salt="a")), root_hash(CacheIdentity("m", salt="b")))
Block = list[tuple[int, int] | None]


class StampStore:
    """Device blocks of (token, position), and what lies below the device."""

    def __init__(self) -> None:
        self.blocks: list[Block] = [[None] * SIZE for _ in range(NUM_BLOCKS)]
        self.tiers: dict[Tier, dict[Hashable, Block]] = {Tier.HOST: {}, Tier.DISK: {}}
        self.swap: dict[tuple[str, int], Block] = {}

    def carry_out(self, move: Move) -> None:
        match move:
            case CopyBlock(src, dst):
                self.blocks[dst] = list(self.blocks[src])
            case OffloadBlock(block_id, content, tier):
                self.tiers[tier][content] = list(self.blocks[block_id])
            case LoadBlock(content, tier, block_id):
                self.blocks[block_id] = list(self.tiers[tier][content])
            case DemoteBlock(content, src, dst):
                self.tiers[dst][content] = self.tiers[src].pop(content)
            case DropBlock(content, tier):
                del self.tiers[tier][content]
            case SwapOut(seq_id, index, block_id):
                self.swap[seq_id, index] = list(self.blocks[block_id])
            case SwapIn(seq_id, index, block_id):
                self.blocks[block_id] = list(self.swap[seq_id, index])
            case DropSwap(seq_id):
                for key in [key for key in self.swap if key[0] == seq_id]:
                    del self.swap[key]

    def write(self, slot: int, token: int, position: int) -> None:
        self.blocks[slot // SIZE][slot % SIZE] = (token, position)

    def read(self, seq: Sequence) -> list[tuple[int, int] | None]:
        slots = seq.slot_mapping(0, seq.num_computed_tokens)
        return [self.blocks[slot // SIZE][slot % SIZE] for slot in slots]


class CacheMachine(RuleBasedStateMachine):
    """Sequences of few different tokens, so prefixes meet often; a pool of 12 blocks, so it is full often."""

    @initialize(host=st.integers(0, 4), disk=st.integers(0, 4), swap=st.integers(0, 8))
    def start(self, host: int, disk: int, swap: int) -> None:
        self.events: list[CacheEvent] = []
        self.tiers = TierStack(host, disk)
        self.cache = PagedCache(NUM_BLOCKS, SIZE, tiers=self.tiers, swap_blocks=swap, on_event=self.events.append)
        self.store = StampStore()
        self.seqs: list[Sequence] = []
        self.count = 0
        self.queried = 0

    def running(self) -> list[Sequence]:
        return [seq for seq in self.seqs if seq.state is SequenceState.RUNNING]

    def pick(self, seqs: list[Sequence], index: int) -> Sequence:
        return seqs[index % len(seqs)]

    def compute(self, seq: Sequence, num_tokens: int) -> None:
        for move in self.cache.take_moves():
            self.store.carry_out(move)
        start = seq.num_computed_tokens
        stop = min(start + num_tokens, len(seq), seq.num_slots)
        self.cache.grow(seq, stop)
        for move in self.cache.take_moves():
            self.store.carry_out(move)
        for position, slot in zip(range(start, stop), seq.slot_mapping(start, stop), strict=True):
            assert self.cache.pool.ref_count[slot // SIZE] == 1, "a shared block is never written"
            self.store.write(slot, seq.token_ids[position], position)
        self.cache.populate(seq, stop - start)

    def attempt_admit(self, seq: Sequence, chunk: int | None, load: bool) -> None:
        before = self.snapshot()
        found = self.cache.lookup(seq, load)
        assert sum(missed_tokens(found.misses).values()) == len(seq) - found.num_cached_tokens
        assert found.num_cached_tokens <= (len(seq) - 1) // SIZE * SIZE
        first = seq.state is SequenceState.WAITING
        try:
            admission = self.cache.admit(seq, chunk, load)
        except OutOfBlocksError:
            assert self.snapshot() == before
            return
        if first:
            self.queried += len(seq)
            assert admission.num_cached_tokens == found.num_cached_tokens

    def snapshot(self) -> object:
        pool, stats = self.cache.pool, self.cache.stats
        tables = [(seq.state, tuple(seq.block_table), len(seq)) for seq in self.seqs]
        return list(pool.ref_count), list(pool.free_order()), pool.contents(), stats.queries, stats.hits, tables

    @rule(tokens=st.lists(st.integers(0, 1), min_size=1, max_size=18), root=st.sampled_from(ROOTS))
    def arrive(self, tokens: list[int], root: bytes) -> None:
        self.count += 1
        self.seqs.append(Sequence(f"s{self.count}", tokens, root=root, block_size=SIZE))

    @rule(tokens=st.lists(st.integers(0, 1), min_size=5, max_size=30), root=st.sampled_from(ROOTS))
    def run(self, tokens: list[int], root: bytes) -> None:
        """A request from arrival to the end of its prefill, if there is room."""
        self.arrive(tokens, root)
        self.attempt_admit(self.seqs[-1], None, True)
        if self.seqs[-1].state is SequenceState.RUNNING:
            self.compute(self.seqs[-1], len(tokens))

    @precondition(lambda self: self.running())
    @rule(index=st.integers(0, 99), tokens=st.lists(st.integers(0, 1), min_size=1, max_size=6))
    def decode(self, index: int, tokens: list[int]) -> None:
        for token in tokens:
            self.append(index, token)
            self.step(index, 99)

    @precondition(lambda self: any(s.state is not SequenceState.RUNNING for s in self.seqs))
    @rule(index=st.integers(0, 99), chunk=st.none() | st.integers(0, 9), load=st.booleans())
    def admit(self, index: int, chunk: int | None, load: bool) -> None:
        self.attempt_admit(
            self.pick([s for s in self.seqs if s.state is not SequenceState.RUNNING], index), chunk, load
        )

    @precondition(lambda self: self.running())
    @rule(index=st.integers(0, 99), num_tokens=st.integers(1, 20))
    def step(self, index: int, num_tokens: int) -> None:
        seq = self.pick(self.running(), index)
        before = self.snapshot()
        try:
            self.compute(seq, num_tokens)
        except OutOfBlocksError:
            assert self.snapshot() == before

    @precondition(lambda self: self.running())
    @rule(index=st.integers(0, 99), token=st.integers(0, 1))
    def append(self, index: int, token: int) -> None:
        seq = self.pick(self.running(), index)
        before = self.snapshot()
        try:
            self.cache.append(seq, token)
        except OutOfBlocksError:
            assert self.snapshot() == before

    @precondition(lambda self: any(s.num_computed_tokens == len(s) for s in self.running()))
    @rule(index=st.integers(0, 99))
    def fork(self, index: int) -> None:
        parent = self.pick([s for s in self.running() if s.num_computed_tokens == len(s)], index)
        self.count += 1
        self.seqs.append(self.cache.fork(parent, f"s{self.count}"))

    @precondition(lambda self: self.running())
    @rule(index=st.integers(0, 99), mode=st.sampled_from(PreemptMode))
    def preempt(self, index: int, mode: PreemptMode) -> None:
        seq = self.pick(self.running(), index)
        before = self.snapshot()
        try:
            self.cache.preempt(seq, mode)
        except OutOfSwapError:
            assert self.snapshot() == before

    @precondition(lambda self: len(self.seqs) > 2)
    @rule(index=st.integers(0, 99))
    def free(self, index: int) -> None:
        seq = self.seqs.pop(index % len(self.seqs))
        self.cache.free(seq)
        for block_id, count in enumerate(self.cache.pool.ref_count):
            if count == 0 and self.cache.pool.content(block_id) is None and not self.cache._moves:
                self.store.blocks[block_id] = [None] * SIZE

    @rule(dice=st.integers(0, 9))
    def clear(self, dice: int) -> None:
        if dice == 0:
            self.cache.clear()

    @invariant()
    def books_balance(self) -> None:
        pool = self.cache.pool
        pool.check_integrity([seq.block_table for seq in self.seqs])
        assert pool.num_free_blocks + sum(count > 0 for count in pool.ref_count) + 1 == NUM_BLOCKS
        assert self.cache.stats.queries == self.queried
        assert self.cache.stats.hits <= self.cache.stats.queries

    @invariant()
    def every_sequence_reads_its_own_tokens(self) -> None:
        if self.cache._moves:
            return  # not carried out yet
        for seq in self.running():
            written = self.store.read(seq)
            assert written == [(token, position) for position, token in enumerate(seq.token_ids[: len(written)])]

    @invariant()
    def hashes_follow_from_the_tokens_of_every_owner(self) -> None:
        for seq in self.running():
            hashes = list(hash_full_blocks(seq.root, seq.token_ids, SIZE))
            for index, block_id in enumerate(seq.block_table):
                content = self.cache.pool.content(block_id)
                full = (index + 1) * SIZE <= seq.num_computed_tokens
                assert content is None or (full and content == hashes[index])

    @invariant()
    def events_rebuild_the_contents(self) -> None:
        assert cached_hashes(self.events) == self.cache.pool.contents()
        for tier in (Tier.HOST, Tier.DISK):
            assert cached_hashes(self.events, tier) == self.tiers.contents(tier)

    def teardown(self) -> None:
        """Whatever happened before, nothing is held when all sequences are gone."""
        for seq in self.seqs:
            self.cache.free(seq)
        assert self.cache.pool.ref_count == [0] * NUM_BLOCKS
        assert (self.cache.pool.num_free_blocks, self.cache.num_swapped_blocks) == (NUM_BLOCKS - 1, 0)
        assert not self.cache.residency.in_flight


class CountedMachine(CacheMachine):
    """Counts the operations of all its runs."""

    operations = 0

    @invariant()
    def one_more(self) -> None:
        type(self).operations += 1


def test_ten_thousand_operations_chosen_by_hypothesis() -> None:
    CountedMachine.operations = 0
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        CountedMachine,
        settings=settings(
            max_examples=140,
            stateful_step_count=100,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
        ),
    )
    assert CountedMachine.operations > 10_000


def walk(seed: int, operations: int) -> CacheMachine:
    """A random walk over the same operations, with every invariant checked after each. Deterministic."""
    random = Random(seed)
    machine = CacheMachine()
    machine.start(random.randrange(5), random.randrange(5), random.randrange(9))
    for _ in range(operations):
        index, tokens = random.randrange(100), [random.randrange(2) for _ in range(random.randrange(5, 30))]
        steps = [partial(machine.run, tokens, ROOTS[random.random() < 0.1]), partial(machine.clear, index)]
        if machine.running():
            steps += [partial(machine.decode, index, tokens[:5]), partial(machine.append, index, tokens[0])]
            steps += [partial(machine.step, index, len(tokens)), partial(machine.preempt, index, PreemptMode.SWAP)]
            steps += [partial(machine.preempt, index, PreemptMode.RECOMPUTE)]
        if len(machine.running()) < len(machine.seqs):
            chunk = random.choice([None, 1, 4, 7])
            steps += [partial(machine.admit, index, chunk, random.random() < 0.8)] * 2
        if any(seq.num_computed_tokens == len(seq) for seq in machine.running()):
            steps += [partial(machine.fork, index)]
        if len(machine.seqs) > 2:
            steps += [partial(machine.free, index)] * (len(machine.seqs) // 2)
        random.choice(steps)()
        machine.books_balance()
        machine.every_sequence_reads_its_own_tokens()
        machine.hashes_follow_from_the_tokens_of_every_owner()
        if random.random() < 0.05:
            machine.events_rebuild_the_contents()
    return machine


LETTERS = {
    Stage.LOOKUP: "L", Stage.ALLOCATE: "A", Stage.POPULATE: "P", Stage.APPEND: "+", Stage.SHARE: "S",
    Stage.COPY_ON_WRITE: "C", Stage.PREEMPT: "X", Stage.OFFLOAD: "", Stage.EVICT: "", Stage.FREE: "F",
}  # fmt: skip
ADMITTED = r"(LS?A|^S)[PC+]*"
LIFE = re.compile(rf"(({ADMITTED}X)*({ADMITTED})?)F?")


def lives(events: list[CacheEvent]) -> dict[str, str]:
    """One letter for each step of each sequence; evictions belong to no sequence of their own."""
    letters: dict[str, str] = {}
    for event in events:
        if isinstance(event, SequenceEvent):
            letters[event.seq_id] = letters.get(event.seq_id, "") + LETTERS[event.stage]
    return letters


@pytest.mark.parametrize("life", ["A", "LAPFP", "LAXP", "LASA", "XF", "LAPLA", "FF"])
def test_control_illegal_lives_do_not_match(life: str) -> None:
    assert LIFE.fullmatch(life) is None


def test_twelve_thousand_operations() -> None:
    seen: Counter[Stage] = Counter()
    for seed in range(24):
        machine = walk(seed, 500)
        machine.events_rebuild_the_contents()
        seen.update(event.stage for event in machine.events if isinstance(event, SequenceEvent))
        machine.teardown()
        assert [life for life in lives(machine.events).values() if not LIFE.fullmatch(life)] == []
    assert set(seen) == set(Stage), "the walk has met every stage of the lifecycle"
    assert min(seen.values()) > 100


def must_fail(monkeypatch: pytest.MonkeyPatch, target: type, name: str, broken: object) -> None:
    """The walk finds the fault that `broken` puts in."""
    monkeypatch.setattr(target, name, broken)
    with pytest.raises((AssertionError, CorruptPoolError)):
        deque((walk(seed, 500) for seed in range(24)), maxlen=0)


def test_control_skipped_copy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = StampStore.carry_out

    def skip_copies(store: StampStore, move: Move) -> None:
        if not isinstance(move, CopyBlock):
            real(store, move)

    must_fail(monkeypatch, StampStore, "carry_out", skip_copies)


def test_control_write_into_a_shared_tail_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def replace_nothing(cache: PagedCache, seq: Sequence, index: int, copy: int) -> None:
        cache.pool.release([copy])

    must_fail(monkeypatch, PagedCache, "_copy_on_write", replace_nothing)


def test_control_hash_without_parent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing a block without what is in front of it makes equal tokens at other positions look equal."""

    def extend(seq: Sequence) -> None:
        full = len(seq.token_ids) // SIZE
        seq.block_hashes[:] = [bytes(seq.token_ids[i * SIZE : (i + 1) * SIZE]) for i in range(full)]

    must_fail(monkeypatch, Sequence, "extend_hashes", extend)


def test_control_leak_is_found() -> None:
    cache = PagedCache(8, SIZE)
    seq = Sequence("a", range(10), root=ROOTS[0], block_size=SIZE)
    cache.admit(seq)
    cache.pool.share([seq.block_table[0]])
    with pytest.raises(CorruptPoolError, match="ref_count"):
        cache.pool.check_integrity([seq.block_table])
    cache.pool.release([seq.block_table[0]])
    cache.pool.check_integrity([seq.block_table])
    with pytest.raises(CorruptPoolError, match="nobody uses it"):
        cache.pool.release([7])


def test_control_changed_full_block_is_found() -> None:
    cache = PagedCache(8, SIZE)
    seq = Sequence("a", range(4), root=ROOTS[0], block_size=SIZE)
    cache.admit(seq)
    cache.populate(seq, 4)
    with pytest.raises(CorruptPoolError, match="never changes"):
        cache.pool.publish(seq.block_table[0], b"something else")
