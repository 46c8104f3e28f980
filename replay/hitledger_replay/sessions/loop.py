"""The replay itself: every call through the engine in the order of the log, and beside it what the rule expects.

One request is in flight at a time, so a call finds all that the calls before it left. Where less was reused than the
predecessor left, the same prompt is run once more with that much of it cached: the time it would have taken without
the break, measured and not inferred. That run has an engine of its own, so the replay's cache, counters and events
know nothing of it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from hitledger.measurement import CallMeasurement, CallTiming, UnreplayedCall
from hitledger_replay.blockhash import CacheIdentity, hash_full_blocks, root_hash
from hitledger_replay.cache import PagedCache
from hitledger_replay.engine.request import FirstToken, Request, RequestResult
from hitledger_replay.engine.salting import salted
from hitledger_replay.sessions.expected import Expectation, ExpectedReads
from hitledger_replay.sessions.ideal import IdealReads
from hitledger_replay.sessions.lifetimes import Lifetimes
from hitledger_replay.sessions.plan import PlannedCall
from hitledger_replay.sessions.ttft import MILLI, TtftModel, milliseconds


class SessionEngine(Protocol):
    """The engine, or the pool alone."""

    cache: PagedCache
    identity: CacheIdentity

    def run_one(self, request: Request) -> RequestResult:
        """Run one request to its end."""


class SessionReplay:
    """One run over all calls."""

    def __init__(
        self,
        engine: SessionEngine,
        *,
        lifetime: float | None = None,
        token_bytes: int | None = None,
        ttft: TtftModel | None = None,
        twin: SessionEngine | None = None,
    ) -> None:
        """`token_bytes` is None where no tensors are held, and then nothing is timed. `twin` runs unbroken prompts."""
        self.engine = engine
        self._twin = twin
        self.peak_tokens = self.peak_slots = 0
        self._size = engine.cache.block_size
        self._expected = ExpectedReads(self._size, lifetime)
        self._lifetimes = Lifetimes(engine.cache, lifetime) if lifetime is not None else None
        self._token_bytes = token_bytes
        self._ttft = ttft
        self._ideal = IdealReads(self._size)

    def run(
        self, plan: Iterable[PlannedCall | UnreplayedCall], known: Callable[[str], CallMeasurement | None]
    ) -> Iterator[CallMeasurement | UnreplayedCall]:
        """Calls whose measurement is `known` from an earlier, stopped run are computed again but not timed again."""
        for call in plan:
            if isinstance(call, UnreplayedCall):
                yield call
            elif not call.prompt:
                yield UnreplayedCall(
                    call.id,
                    call.session,
                    "its prompt has no tokens: the length is not known, or nothing is left at this scale",
                )
            else:
                yield self._call(call, known(call.id))

    def _call(self, call: PlannedCall, known: CallMeasurement | None) -> CallMeasurement:
        expectation = self._expected.next(call)
        result = self._run_in_time(call)
        self._note_peak(call)
        ideal = self._ideal.of(call, result.num_cached_tokens)
        self._ideal.leave(call, expectation.left_tokens)
        if known is not None:
            return known
        row = self._measurement(call, result, expectation, ideal)
        return row if self._token_bytes is None else self._with_times(row, call, result, ideal)

    def _run_in_time(self, call: PlannedCall) -> RequestResult:
        request = Request(
            call.id, call.prompt, call.session, forced_output=call.reply, max_new_tokens=1, salt=call.partition
        )
        if self._lifetimes is None:
            return self.engine.run_one(request)
        self._lifetimes.expire(call.at)
        contents = self._contents(call)
        new = self._lifetimes.unstored(contents)
        result = self.engine.run_one(request)
        if len(call.prompt) < call.minimum:
            self._lifetimes.forget(new)
        self._lifetimes.touch(contents, call.at)
        return result

    def _contents(self, call: PlannedCall) -> list[bytes]:
        root = root_hash(salted(self.engine.identity, call.partition))
        return list(hash_full_blocks(root, (*call.prompt, *call.reply[:-1]), self._size))

    def _note_peak(self, call: PlannedCall) -> None:
        tail = (len(call.prompt) + max(len(call.reply) - 1, 0)) % self._size
        cached = len(self.engine.cache.pool.policy)
        if (cached + bool(tail)) * self._size >= self.peak_slots:
            self.peak_slots = (cached + bool(tail)) * self._size
            self.peak_tokens = cached * self._size + tail

    def _measurement(
        self, call: PlannedCall, result: RequestResult, expectation: Expectation, ideal: int
    ) -> CallMeasurement:
        measured = result.num_cached_tokens
        return CallMeasurement(
            id=call.id,
            session=call.session,
            agent=call.agent,
            prompt_tokens=len(call.prompt),
            output_tokens=len(call.reply),
            ideal_cached_tokens=ideal,
            expected_cached_tokens=expectation.cached_tokens,
            measured_cached_tokens=measured,
            reported_cache_read_tokens=call.reported_cache_read_tokens,
            recomputed_tokens=ideal - measured,
            reasons={reason.value: tokens for reason, tokens in sorted(result.misses.items())},
            cached_by_tier={tier.value: tokens for tier, tokens in sorted(result.cached_by_tier.items())},
            reused_bytes=None if self._token_bytes is None else measured * self._token_bytes,
            copied_blocks=result.num_copies,
            tail_slots=result.tail_slots,
            provenance=call.rendering.value,
            certainty=call.certainty,
            note=call.note,
            predicted_ttft_ms=self._predicted(call, measured),
            predicted_ttft_without_break_ms=self._predicted(call, ideal) if ideal > measured else None,
        )

    def _predicted(self, call: PlannedCall, num_cached: int) -> float | None:
        """Milliseconds by the fitted model, None without one."""
        return milliseconds(self._ttft.predict(len(call.prompt), num_cached)) if self._ttft else None

    def _with_times(
        self, row: CallMeasurement, call: PlannedCall, result: RequestResult, ideal: int
    ) -> CallMeasurement:
        spent = result.first_token
        without = self._unbroken(self._twin, call, ideal) if self._twin and row.recomputed_tokens else None
        predicted = row.predicted_ttft_ms
        return replace(
            row,
            ttft_ms=milliseconds(spent.ttft),
            predicted_ttft_ms=None if predicted is None else round(predicted + spent.load * MILLI, 3),
            ttft_without_break_ms=None if without is None else milliseconds(without.ttft),
            timing=CallTiming(
                lookup_ms=milliseconds(spent.lookup),
                load_ms=milliseconds(spent.load),
                compute_ms=milliseconds(spent.compute),
                sample_ms=milliseconds(spent.sample),
                spread_ms=0.0,
                runs=1,
            ),
        )

    def _unbroken(self, twin: SessionEngine, call: PlannedCall, ideal: int) -> FirstToken:
        twin.run_one(Request("prefix", call.prompt[:ideal]))
        result = twin.run_one(Request("unbroken", call.prompt))
        assert result.num_cached_tokens == ideal, "the prefix that was just computed is found"
        twin.cache.clear()
        return result.first_token
