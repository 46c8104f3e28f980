"""The paged KV cache: sequences over the block pool, from lookup to free. Pure bookkeeping, no tensors.

    cache = PagedCache(num_blocks=1024, block_size=16)
    seq = Sequence("a", token_ids, root=root_hash(CacheIdentity("model")), block_size=16)
    admission = cache.admit(seq)                 # lookup, share, allocate; seq.num_computed_tokens = the hit
    moves = cache.take_moves()                   # carry these out on the tensors, in order, before computing
    slots = seq.slot_mapping(seq.num_computed_tokens, len(seq))    # write keys and values here
    cache.populate(seq, len(seq) - seq.num_computed_tokens)        # computed: full blocks can be hit from now on
    cache.append(seq, token_id)                  # one more token with a slot; copies a shared tail first
    cache.free(seq)

Calls that need blocks either succeed or raise OutOfBlocksError and change nothing.
"""

from collections.abc import Callable, Hashable

from hitledger_replay.admission import Admission, PreemptMode
from hitledger_replay.blocks import blocks_for
from hitledger_replay.errors import IllegalTransitionError, OutOfBlocksError, OutOfSwapError
from hitledger_replay.events import (
    AllBlocksCleared,
    BlockRemoved,
    BlockStored,
    CacheEvent,
    SequenceEvent,
    Stage,
    tier_events,
)
from hitledger_replay.eviction.protocol import EvictionPolicy
from hitledger_replay.inflight import InFlight
from hitledger_replay.lookup import PrefixHit, PrefixLookup, Residency, find_prefix
from hitledger_replay.misses import Eviction, EvictionHistory
from hitledger_replay.moves import CopyBlock, DropSwap, LoadBlock, Move, SwapIn, SwapOut, Tier
from hitledger_replay.pool import BlockPool
from hitledger_replay.sequence import Sequence, SequenceState
from hitledger_replay.stats import CacheStats
from hitledger_replay.tiers import TierStack

OnEvent = Callable[[CacheEvent], None]


class PagedCache:
    """Owns the pool, the lower tiers and the swap space; the sequences belong to the caller."""

    def __init__(
        self,
        num_blocks: int,
        block_size: int = 16,
        *,
        policy: EvictionPolicy | None = None,
        tiers: TierStack | None = None,
        swap_blocks: int = 0,
        on_event: OnEvent | None = None,
        evictions: EvictionHistory | None = None,
    ) -> None:
        """`num_blocks` includes the null block 0; `swap_blocks` is host room for preempted sequences.

        `evictions` is for a longer or shorter memory of what was evicted than the usual one.
        """
        if block_size < 1:
            raise ValueError(f"block_size must be at least 1, not {block_size}")
        self.block_size = block_size
        self.pool = BlockPool(num_blocks, policy, self._evicted)
        self.tiers = tiers or TierStack()
        self.swap_blocks = swap_blocks
        self.stats = CacheStats()
        self._emit: OnEvent = on_event or (lambda event: None)
        self._moves: list[Move] = []
        self._in_flight = InFlight()
        self._migrating: dict[Hashable, int] = {}
        self._evictions = EvictionHistory() if evictions is None else evictions
        self._swapped: dict[str, int] = {}
        self._step = 0
        self._needed_by = ""
        self._pinned: frozenset[Hashable] = frozenset()

    @property
    def residency(self) -> Residency:
        """The books a lookup reads."""
        return Residency(self.pool, self.tiers, self._migrating, self._in_flight.hashes, self._evictions)

    @property
    def num_swapped_blocks(self) -> int:
        """Blocks of swap space in use."""
        return sum(self._swapped.values())

    def lookup(self, seq: Sequence, load: bool = True) -> PrefixLookup:
        """What `admit` would find, without changing anything."""
        return find_prefix(seq, self.residency, load)

    def admit(self, seq: Sequence, num_new_tokens: int | None = None, load: bool = True) -> Admission:
        """Look up, share the hit and allocate room for `num_new_tokens` behind it (None: for the whole sequence).

        Also resumes a preempted or swapped-out sequence. Statistics are recorded only for the first admission.
        Raises OutOfBlocksError and changes nothing if the pool is too full.
        """
        seq.require(SequenceState.WAITING, SequenceState.PREEMPTED, SequenceState.SWAPPED)
        if len(seq) == 0:
            raise IllegalTransitionError(f"sequence {seq.seq_id} has no tokens")
        if seq.state is SequenceState.SWAPPED:
            return self._swap_in(seq, num_new_tokens)
        found = self.lookup(seq, load)
        target = len(seq) if num_new_tokens is None else min(len(seq), found.num_cached_tokens + num_new_tokens)
        self._place(seq, found.hits, target, found.num_cached_tokens)
        self.stats.record_lookup(found, first=seq.state is SequenceState.WAITING)
        if seq.state is SequenceState.WAITING:
            seq.num_cached_tokens = found.num_cached_tokens
        self._start(seq, found.num_cached_tokens)
        return Admission(found.num_cached_tokens, found.hits, found.misses)

    def grow(self, seq: Sequence, num_tokens: int) -> None:
        """Make sure the first `num_tokens` tokens have slots that only this sequence writes. Copies a shared tail."""
        seq.require(SequenceState.RUNNING)
        write_index = seq.num_computed_tokens // self.block_size
        shared = (
            num_tokens > seq.num_computed_tokens
            and write_index < len(seq.block_table)
            and self.pool.ref_count[seq.block_table[write_index]] > 1
        )
        num_new = max(0, blocks_for(num_tokens, self.block_size) - len(seq.block_table))
        taken = self._allocate(seq, num_new + shared)
        if shared:
            self._copy_on_write(seq, write_index, taken.pop(0))
        seq.block_table.extend(taken)
        self._in_flight.track(seq)

    def append(self, seq: Sequence, token_id: int) -> None:
        """Put a token behind the sequence and give it a slot. Raises OutOfBlocksError without adding it."""
        self.grow(seq, len(seq) + 1)
        seq.append_token(token_id)
        self._in_flight.track(seq)
        self._emit(SequenceEvent(Stage.APPEND, seq.seq_id, 1, (seq.block_table[(len(seq) - 1) // self.block_size],)))

    def populate(self, seq: Sequence, num_tokens: int) -> None:
        """The next `num_tokens` tokens are computed: count them, and let the blocks that are full be found."""
        seq.require(SequenceState.RUNNING)
        start, stop = seq.num_computed_tokens, seq.num_computed_tokens + num_tokens
        if num_tokens < 0 or stop > min(len(seq), seq.num_slots):
            raise IllegalTransitionError(f"sequence {seq.seq_id} has no slots for tokens {start} to {stop}")
        seq.num_computed_tokens = stop
        for index in range(start // self.block_size, stop // self.block_size):
            self._publish(seq.block_table[index], seq.block_hashes[index], seq.parent_hash(index))
        self._in_flight.track(seq)
        if start >= seq.num_prompt_tokens:
            self.stats.decode_read_tokens += (start + 1 + stop) * num_tokens // 2
        self._emit(SequenceEvent(Stage.POPULATE, seq.seq_id, num_tokens))

    def fork(self, seq: Sequence, seq_id: str) -> Sequence:
        """A second sequence with the same tokens that shares every block, the unfilled tail too."""
        seq.require(SequenceState.RUNNING)
        if seq.num_computed_tokens != len(seq):
            raise IllegalTransitionError(f"sequence {seq.seq_id} has tokens that are not computed; populate them first")
        child = Sequence(seq_id, seq.token_ids, root=seq.root, block_size=self.block_size, extra_keys=seq.extra_keys)
        child.block_table = list(seq.block_table)
        child.num_prompt_tokens, child.num_cached_tokens = seq.num_prompt_tokens, seq.num_cached_tokens
        child.num_computed_tokens, child.state = seq.num_computed_tokens, SequenceState.RUNNING
        self.pool.share(child.block_table)
        self._in_flight.track(child)
        self._emit(SequenceEvent(Stage.SHARE, seq_id, len(child), tuple(child.block_table)))
        return child

    def preempt(self, seq: Sequence, mode: PreemptMode = PreemptMode.RECOMPUTE) -> None:
        """Take the sequence's blocks. Its tokens stay; `admit` resumes it. Raises OutOfSwapError without a change."""
        seq.require(SequenceState.RUNNING)
        if mode is PreemptMode.SWAP:
            self._swap_out(seq)
            seq.state = SequenceState.SWAPPED
        else:
            seq.state = SequenceState.PREEMPTED
        self._emit(SequenceEvent(Stage.PREEMPT, seq.seq_id, seq.num_computed_tokens, tuple(seq.block_table)))
        self.stats.num_preemptions += 1
        self._give_back(seq)

    def free(self, seq: Sequence) -> None:
        """The sequence is done, or aborted in any state: drop its claim on every block and on swap space."""
        if seq.state is SequenceState.FINISHED:
            raise IllegalTransitionError(f"sequence {seq.seq_id} is freed twice")
        if self._swapped.pop(seq.seq_id, None) is not None:
            self._moves.append(DropSwap(seq.seq_id))
        self._emit(SequenceEvent(Stage.FREE, seq.seq_id, len(seq), tuple(seq.block_table)))
        self._give_back(seq)
        seq.state = SequenceState.FINISHED

    def take_moves(self) -> tuple[Move, ...]:
        """The transfers since the last call. The caller carries them out now, so loaded blocks can be hit from now."""
        moves, self._moves = tuple(self._moves), []
        arrived, self._migrating = self._migrating, {}
        for content, block_id in arrived.items():
            self._publish(block_id, content, None)
        return moves

    def clear(self) -> None:
        """Forget every content on the device. Running sequences keep their blocks, but nobody can find them."""
        for content in self.pool.contents():
            self.pool.drop(content)
        self._emit(AllBlocksCleared())

    def _place(self, seq: Sequence, hits: tuple[PrefixHit, ...], target: int, computed: int) -> None:
        """Fill the block table: device hits are shared, all other blocks allocated, lower tiers loaded into them."""
        size = self.block_size
        num_blocks = max(len(hits), blocks_for(target, size))
        on_device = [hit.block_id for hit in hits if hit.block_id is not None]
        if not self.pool.can_take(on_device, num_blocks - len(on_device)):
            raise OutOfBlocksError(f"sequence {seq.seq_id} needs {num_blocks} blocks, {len(on_device)} of them hits")
        self._step += 1
        self._emit(SequenceEvent(Stage.LOOKUP, seq.seq_id, computed))
        self.pool.share(on_device)
        self._pinned = frozenset(seq.block_hashes[i] for i, hit in enumerate(hits) if hit.block_id is None)
        fresh = iter(self._allocate(seq, num_blocks - len(on_device)))
        self._pinned = frozenset()
        for index in range(num_blocks):
            hit = hits[index] if index < len(hits) else None
            block_id = next(fresh) if hit is None or hit.block_id is None else hit.block_id
            if hit is not None and hit.block_id is None:
                self._load(seq.block_hashes[index], block_id)
            seq.block_table.append(block_id)
        if on_device:
            self._emit(SequenceEvent(Stage.SHARE, seq.seq_id, len(on_device) * size, tuple(on_device)))
        self._emit(SequenceEvent(Stage.ALLOCATE, seq.seq_id, target, tuple(seq.block_table)))

    def _load(self, content: Hashable, block_id: int) -> None:
        tier = self.tiers.find(content)
        assert tier is not None, "a hit below the device was not kept while its block was allocated"
        self.tiers.touch(content)
        self._moves.append(LoadBlock(content, tier, block_id))
        self._migrating[content] = block_id

    def _start(self, seq: Sequence, computed: int) -> None:
        seq.num_computed_tokens = computed
        seq.state = SequenceState.RUNNING
        self._in_flight.track(seq)

    def _swap_out(self, seq: Sequence) -> None:
        num_blocks = blocks_for(seq.num_computed_tokens, self.block_size)
        if self.num_swapped_blocks + num_blocks > self.swap_blocks:
            used = f"{self.num_swapped_blocks} of {self.swap_blocks} blocks of swap space are taken"
            raise OutOfSwapError(f"sequence {seq.seq_id} needs {num_blocks} blocks of swap space; {used}")
        self._moves.extend(SwapOut(seq.seq_id, i, seq.block_table[i]) for i in range(num_blocks))
        self._swapped[seq.seq_id] = num_blocks

    def _swap_in(self, seq: Sequence, num_new_tokens: int | None) -> Admission:
        """Resume: blocks still on the device are shared again, the others come back from swap space."""
        computed = seq.num_computed_tokens
        target = len(seq) if num_new_tokens is None else min(len(seq), computed + num_new_tokens)
        full = seq.block_hashes[: computed // self.block_size]
        kept = self.pool.find_prefix(full)
        self._place(seq, tuple(PrefixHit(Tier.DEVICE, block_id) for block_id in kept), target, computed)
        num_swapped = self._swapped.pop(seq.seq_id)
        for index in range(len(kept), num_swapped):
            self._moves.append(SwapIn(seq.seq_id, index, seq.block_table[index]))
            if index < len(full):
                self._migrating.setdefault(full[index], seq.block_table[index])
        self._moves.append(DropSwap(seq.seq_id))
        self._start(seq, computed)
        return Admission(computed, (), ())

    def _allocate(self, seq: Sequence, num_new: int) -> list[int]:
        self._needed_by = seq.seq_id
        return self.pool.allocate(num_new)

    def _copy_on_write(self, seq: Sequence, index: int, copy: int) -> None:
        shared = seq.block_table[index]
        self._moves.append(CopyBlock(shared, copy))
        self.pool.release([shared])
        seq.block_table[index] = copy
        self.stats.num_copies += 1
        tokens = seq.num_computed_tokens - index * self.block_size
        self._emit(SequenceEvent(Stage.COPY_ON_WRITE, seq.seq_id, tokens, (shared, copy)))

    def _publish(self, block_id: int, content: Hashable, parent: Hashable | None) -> None:
        if self.pool.publish(block_id, content):
            self._evictions.returned(content)
            self._emit(BlockStored(content, parent, block_id))

    def _give_back(self, seq: Sequence) -> None:
        self._in_flight.untrack(seq)
        self.pool.release(seq.block_table)
        still_loading = {block for block in seq.block_table if self.pool.ref_count[block] == 0}
        self._migrating = {c: block for c, block in self._migrating.items() if block not in still_loading}
        seq.block_table.clear()
        if seq.state is not SequenceState.SWAPPED:
            seq.num_computed_tokens = 0

    def _evicted(self, block_id: int, content: Hashable) -> None:
        """The pool is about to hand out a block that still holds `content`."""
        self._emit(BlockRemoved(content, block_id))
        self._emit(SequenceEvent(Stage.EVICT, self._needed_by, self.block_size, (block_id,)))
        self._evictions.record(content, Eviction(self._step, self._needed_by, self.pool.policy.name))
        self.stats.num_evictions += 1
        moves = self.tiers.offload(block_id, content, self._pinned)
        self._moves.extend(moves)
        for event in tier_events(moves):
            self._emit(event)
        if moves:
            self._emit(SequenceEvent(Stage.OFFLOAD, self._needed_by, self.block_size, (block_id,)))
