"""The engine: requests in, results out, one step at a time.

    engine = Engine(model, num_blocks=1024, block_size=16)
    for result in engine.run(requests): ...

Cache, scheduler and runner do the work; this loop moves tokens between them and reads the clock.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hitledger_replay.admission import PreemptMode
from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.blocks import blocks_for
from hitledger_replay.cache import OnEvent, PagedCache
from hitledger_replay.engine.attention.choose import choose_backend
from hitledger_replay.engine.attention.protocol import AttentionBackend
from hitledger_replay.engine.batch import Work, pack
from hitledger_replay.engine.clock import synchronize
from hitledger_replay.engine.codec import codec_for
from hitledger_replay.engine.decode import DecodeSteps
from hitledger_replay.engine.live import Clock, LiveSequence
from hitledger_replay.engine.probe import layer_peaks, layer_shapes
from hitledger_replay.engine.request import Request, RequestResult
from hitledger_replay.engine.runner import Runner
from hitledger_replay.engine.salting import salted
from hitledger_replay.engine.sampling import Sampler
from hitledger_replay.engine.scheduler import Scheduler
from hitledger_replay.engine.store import KVStore
from hitledger_replay.engine.transfers import Transfers
from hitledger_replay.errors import ReplayError
from hitledger_replay.eviction.protocol import EvictionPolicy
from hitledger_replay.misses import missed_tokens
from hitledger_replay.sequence import Sequence
from hitledger_replay.tiers import TierStack


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How the engine runs. `num_blocks` counts the null block."""

    num_blocks: int
    block_size: int = 16
    kv_dtype: str = "model"
    token_budget: int = 2048
    max_sequences: int = 16
    preempt_mode: PreemptMode = PreemptMode.RECOMPUTE
    host_blocks: int = 0
    disk_blocks: int = 0
    swap_blocks: int = 0
    disk: Path | None = None
    decode_graphs: bool = False
    """Decode out of tensors that stay in place; on CUDA the step is recorded once for each padded size and replayed."""
    keep_logits: bool = False
    poison: bool = False
    """Fill every block with NaN before its first write: a stale read then shows in the logits."""


class Engine:
    """One model, one pool. Not safe for use by several threads."""

    def __init__(
        self,
        model: Any,
        options: EngineOptions,
        *,
        identity: CacheIdentity | None = None,
        backend: AttentionBackend | None = None,
        policy: EvictionPolicy | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        """`model` is a transformers causal model; it is left on its device and set to paged attention.

        Raises UnknownArchitectureError for a model whose state cannot be paged.
        """
        self.options = options
        self.identity = identity or CacheIdentity(str(model.config.model_type))
        compute = next(model.parameters()).dtype
        peaks = layer_peaks(model) if options.kv_dtype == "fp8" else ()
        self.store = KVStore(
            layer_shapes(model),
            options.num_blocks,
            options.block_size,
            codec_for(options.kv_dtype, compute, peaks),
            model.device,
        )
        tiers = TierStack(options.host_blocks, options.disk_blocks)
        self.cache = PagedCache(
            options.num_blocks,
            options.block_size,
            policy=policy,
            tiers=tiers,
            swap_blocks=options.swap_blocks,
            on_event=on_event,
        )
        self.transfers = Transfers(self.store, options.disk)
        self.scheduler = Scheduler(self.cache, options.token_budget, options.max_sequences, options.preempt_mode)
        self.runner = Runner(model, self.store, backend or choose_backend(model.device))
        self.decode_steps = DecodeSteps(self.runner, options.max_sequences) if options.decode_graphs else None

    def submit(self, request: Request) -> None:
        """Queue a request. Raises ReplayError for one that can never run."""
        if not request.prompt:
            raise ReplayError(f"request {request.id} has an empty prompt")
        clock = Clock(time.perf_counter())
        root = root_hash(salted(self.identity, request.salt))
        sequence = Sequence(request.id, request.prompt, root=root, block_size=self.options.block_size)
        clock.lookup = time.perf_counter() - clock.arrived
        live = LiveSequence(request, sequence, Sampler(request.sampling), clock)
        live.group.append(live)
        self.scheduler.add(live)

    def run(self, requests: Iterable[Request]) -> Iterator[RequestResult]:
        """Submit all, then step until all are done; results come in the order in which they finish.

        Whoever stops listening cancels what is left, as does an error: no block stays taken.
        """
        try:
            for request in requests:
                self.submit(request)
            while self.scheduler.waiting or self.scheduler.running:
                yield from self.step()
        finally:
            for live in (*self.scheduler.running, *self.scheduler.waiting):
                self.scheduler.abort(live)

    def run_one(self, request: Request) -> RequestResult:
        """Submit one request and run everything to its end."""
        return next(result for result in list(self.run([request])) if result.id == request.id)

    def step(self) -> list[RequestResult]:
        """Compute one batch; returns the requests that are complete."""
        planned = self.scheduler.schedule()
        load = self.transfers.carry_out(self.cache.take_moves())
        works = [work for _, work in planned]
        if self.options.poison:
            self._poison(works)
        begun = time.perf_counter()
        logits = self._forward(planned)
        synchronize(self.store.device)
        compute = time.perf_counter() - begun
        rows = iter(logits)
        finished: list[RequestResult] = []
        for live, work in planned:
            self.cache.populate(live.sequence, work.stop - work.start)
            if live.first_token is None:
                live.clock.load += load
                live.clock.compute += compute
            row = next(rows) if work.wants_logits else None
            if row is not None and not live.pending:
                finished.extend(self._advance(live, row))
        return finished

    def _forward(self, planned: list[tuple[LiveSequence, Work]]) -> torch.Tensor:
        works = [work for _, work in planned]
        if self.decode_steps is not None and all(work.is_decode for work in works):
            logits = self.decode_steps.forward(works)
            if logits is not None:
                return logits
            for live, _ in planned:
                live.num_plain_decodes += 1
        return self.runner.forward(pack(works, self.options.block_size, self.store.device))

    def _advance(self, live: LiveSequence, logits: torch.Tensor) -> list[RequestResult]:
        """All tokens so far are computed: fork parallel samples, sample, and finish what is complete."""
        finished: list[RequestResult] = []
        for member in [live, *self._fork(live)]:
            if not member.done:
                self._sample(member, logits)
            if member.done and not member.pending:
                self.scheduler.finish(member)
                if all(other.done and not other.pending for other in member.group):
                    finished.append(_result(member.group, self.options.block_size))
        return finished

    def _fork(self, live: LiveSequence) -> list[LiveSequence]:
        if live.output or live.group[0] is not live or len(live.group) == live.request.num_samples:
            return []
        forks = []
        for number in range(1, live.request.num_samples):
            sequence = self.cache.fork(live.sequence, f"{live.request.id}#{number}")
            fork = LiveSequence(live.request, sequence, Sampler(live.request.sampling, number), live.clock, live.group)
            fork.admission = live.admission
            live.group.append(fork)
            self.scheduler.adopt(fork)
            forks.append(fork)
        return forks

    def _sample(self, live: LiveSequence, logits: torch.Tensor) -> None:
        begun = time.perf_counter()
        token_id = live.sampler.sample(logits)
        if live.first_token is None:
            now = time.perf_counter()
            live.clock.sample += now - begun
            live.first_token = live.clock.stop(now)
            live.first_logits = logits.clone() if self.options.keep_logits else None
        live.emit(token_id)

    def _poison(self, works: list[Work]) -> None:
        size = self.options.block_size
        fresh = [
            block
            for work in works
            for block in work.sequence.block_table[blocks_for(work.start, size) : blocks_for(work.stop, size)]
        ]
        self.store.poison(fresh)


def _result(group: list[LiveSequence], block_size: int) -> RequestResult:
    first = group[0]
    admission, first_token = first.admission, first.first_token
    assert admission is not None, "a finished request was admitted"
    assert first_token is not None, "a finished request has a first token"
    tiers = Counter(hit.tier for hit in admission.hits)
    num_prompt = len(first.request.prompt)
    return RequestResult(
        id=first.request.id,
        session=first.request.session,
        num_prompt_tokens=num_prompt,
        num_cached_tokens=admission.num_cached_tokens,
        cached_by_tier={tier: count * block_size for tier, count in sorted(tiers.items())},
        misses=missed_tokens(admission.misses),
        outputs=tuple(tuple(live.output) for live in group),
        first_token=first_token,
        num_preemptions=sum(live.num_preemptions for live in group),
        num_copies=sum(live.num_copies for live in group),
        num_plain_decodes=sum(live.num_plain_decodes for live in group),
        tail_slots=-num_prompt % block_size,
        first_logits=first.first_logits,
    )
