"""Which tokens of which sequences the next step computes.

First come, first served; running sequences before waiting ones; prompts are cut into chunks that fit the token budget;
when the pool is full the youngest running sequence is preempted (vLLM's v1 scheduler). At most one request of a
session runs at a time: a reply must be finished before the next prompt that contains it can hit it.
"""

import time
from collections import deque

from hitledger_replay.admission import PreemptMode
from hitledger_replay.cache import PagedCache
from hitledger_replay.engine.batch import Work
from hitledger_replay.engine.live import LiveSequence
from hitledger_replay.errors import OutOfBlocksError, OutOfSwapError
from hitledger_replay.sequence import SequenceState


class Scheduler:
    """Owns the queues. A step's work is never larger than `token_budget` tokens."""

    def __init__(
        self,
        cache: PagedCache,
        token_budget: int = 2048,
        max_sequences: int = 16,
        preempt_mode: PreemptMode = PreemptMode.RECOMPUTE,
    ) -> None:
        self.cache = cache
        self.token_budget = token_budget
        self.max_sequences = max_sequences
        self.preempt_mode = preempt_mode
        self.waiting: deque[LiveSequence] = deque()
        self.running: list[LiveSequence] = []

    def add(self, live: LiveSequence) -> None:
        """Put a new sequence at the end of the queue."""
        self.waiting.append(live)

    def adopt(self, live: LiveSequence) -> None:
        """Take a forked sequence, which is running already."""
        self.running.append(live)

    def finish(self, live: LiveSequence) -> None:
        """The sequence is complete: free it."""
        self.running.remove(live)
        self.cache.free(live.sequence)

    def abort(self, live: LiveSequence) -> None:
        """Drop a sequence in any state."""
        if live in self.running:
            self.finish(live)
        else:
            self.waiting.remove(live)
            self.cache.free(live.sequence)

    def schedule(self) -> list[tuple[LiveSequence, Work]]:
        """The next step. Raises OutOfBlocksError if a sequence that has the pool to itself still does not fit."""
        budget = self.token_budget
        planned: list[tuple[LiveSequence, Work]] = []
        preempted = False
        position = 0
        while position < len(self.running) and budget:
            live = self.running[position]
            work = self._continue(live, budget)
            if work is None:
                preempted = True
                break
            planned.append((live, work))
            budget -= work.stop - work.start
            position += 1
        if not preempted:
            planned.extend(self._admit(budget, empty=not planned))
        return planned

    def _continue(self, live: LiveSequence, budget: int) -> Work | None:
        """Slots for what a running sequence computes next; None if it had to be preempted itself."""
        seq = live.sequence
        while True:
            try:
                while live.pending and len(seq) - seq.num_computed_tokens < budget:
                    self._append(live)
                stop = min(seq.num_computed_tokens + budget, live.next_split)
                self.cache.grow(seq, stop)
                return Work(seq, seq.num_computed_tokens, stop)
            except OutOfBlocksError:
                victim = self.running[-1]
                if victim is live and len(self.running) == 1:
                    raise
                self._preempt(victim)
                if victim is live:
                    return None

    def _append(self, live: LiveSequence) -> None:
        before = self.cache.stats.num_copies
        self.cache.append(live.sequence, live.pending[0])
        live.pending.popleft()
        live.num_copies += self.cache.stats.num_copies - before

    def _preempt(self, live: LiveSequence) -> None:
        try:
            self.cache.preempt(live.sequence, self.preempt_mode)
        except OutOfSwapError:
            self.cache.preempt(live.sequence, PreemptMode.RECOMPUTE)
        live.num_preemptions += 1
        self.running.remove(live)
        self.waiting.appendleft(live)

    def _admit(self, budget: int, empty: bool) -> list[tuple[LiveSequence, Work]]:
        planned: list[tuple[LiveSequence, Work]] = []
        skipped: list[LiveSequence] = []
        held: set[str] = set()
        while self.waiting and budget and len(self.running) < self.max_sequences:
            live = self.waiting.popleft()
            session = live.request.session
            if session and (session in held or self._blocked(live)):
                skipped.append(live)
                held.add(session)
                continue
            try:
                work = self._start(live, budget)
            except OutOfBlocksError:
                self.waiting.appendleft(live)
                if empty and not planned and not self.running:
                    raise
                break
            planned.append((live, work))
            budget -= work.stop - work.start
        self.waiting.extendleft(reversed(skipped))
        return planned

    def _start(self, live: LiveSequence, budget: int) -> Work:
        seq = live.sequence
        begun = time.perf_counter()
        first = seq.state is SequenceState.WAITING
        if not first and live.pending:
            seq.append_token(live.pending.popleft())  # it has no slot yet: admission gives it one
        admission = self.cache.admit(seq, budget)
        if first:
            live.admission = admission
        live.clock.lookup += time.perf_counter() - begun
        self.running.append(live)
        stop = min(seq.num_computed_tokens + budget, live.next_split)
        return Work(seq, seq.num_computed_tokens, stop)

    def _blocked(self, live: LiveSequence) -> bool:
        """Another request of the session is running (samples of the same request may run together)."""
        return any(
            other.request.session == live.request.session and other.request is not live.request
            for other in self.running
        )
