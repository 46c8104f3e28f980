"""`hitledger replay --url`: sessions through a running server, call by call, beside what its engine's rule gives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hitledger.measurement import (
    MEASUREMENT_VERSION,
    SERVER_MODE,
    CallMeasurement,
    CallTiming,
    Measurement,
    ServerCounters,
    UnreplayedCall,
)
from hitledger.stages import Progress
from hitledger.types import Call
from hitledger_replay.errors import ReplayError
from hitledger_replay.servers.client import Completion, ServerClient
from hitledger_replay.servers.errors import ServerError, ServerGoneError, ServerRefusedError, ServerTimeoutError
from hitledger_replay.servers.metrics import Counters, read_counters
from hitledger_replay.servers.rules import AUTO, block_size_of, engine_of, simulator_of
from hitledger_replay.servers.slots import SlotReads
from hitledger_replay.sessions.expected import ExpectedReads
from hitledger_replay.sessions.ideal import IdealReads
from hitledger_replay.sessions.plan import PlannedCall, ReplayPlan
from hitledger_replay.sessions.render import PromptRenderer, RenderMode, Target
from hitledger_replay.sessions.ttft import milliseconds

UNCOUNTED = "reuse not counted"


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """`engine` auto and `block_size` None: as the server states it. `flags`: those of llama.cpp's server."""

    engine: str = AUTO
    block_size: int | None = None
    render: RenderMode = RenderMode.AUTO
    scale: float = 1.0
    flags: str = ""


class PartialReplayError(ReplayError):
    """The server is gone or the user stopped; `measurement` holds the calls that were finished."""

    def __init__(self, message: str, measurement: Measurement) -> None:
        super().__init__(message)
        self.measurement = measurement


def replay_on_server(
    calls: Sequence[Call],
    client: ServerClient,
    target: Target,
    options: ServerOptions,
    progress: Progress | None = None,
) -> Measurement:
    """One request at a time, in the order of the log; the server's cache should be empty of these prompts before.

    A call that the server refuses or says nothing of is listed with the reason. Raises PartialReplayError when the
    server cannot be reached any more, does not answer in time (what it computed of that prompt is not known) or the
    user stops the replay, ReplayError if nothing was finished then, and at once for a model that is not served.
    """
    client.require_model()
    before = read_counters(client)
    engine = engine_of(options.engine, client)
    size = block_size_of(engine, options.block_size, before.block_size)
    plan = ReplayPlan(calls, PromptRenderer(target, options.render), target.vocabulary_size, None, options.scale)
    run = _ServerRun(client, simulator_of(engine, size, options.flags, client), size)
    gone: str | None = None
    try:
        for number, item in enumerate(plan, 1):
            run.next(item)
            if progress:
                progress(number, len(plan))
    except ServerError as error:  # also of the server's tokenizer, which the plan asks
        gone = str(error)
    except KeyboardInterrupt:
        gone = "stopped"
    if gone is not None and not run.rows:
        raise ReplayError(f"{gone}; no call was finished")
    after = Counters(None, None, None) if gone else read_counters(client)
    measurement = _measurement(run, client, replace(options, engine=engine), size, _change(before, after))
    if gone is not None:
        raise PartialReplayError(f"{gone}; {len(run.rows)} of {len(plan)} calls were finished", measurement)
    return measurement


class _ServerRun:
    def __init__(self, client: ServerClient, expected: ExpectedReads | SlotReads, size: int) -> None:
        self.rows: list[CallMeasurement] = []
        self.unreplayed: list[UnreplayedCall] = []
        self._client = client
        self._expected = expected
        self._size = size
        self._ideal = IdealReads(size)

    def next(self, call: PlannedCall | UnreplayedCall) -> None:
        if isinstance(call, UnreplayedCall):
            self.unreplayed.append(call)
            return
        try:
            answer = self._client.complete(call.prompt)
        except ServerRefusedError as error:
            if isinstance(self._expected, SlotReads):
                self._expected.refused(call)
            self.unreplayed.append(UnreplayedCall(call.id, call.session, str(error)))
            return
        except (ServerGoneError, ServerTimeoutError):
            raise
        except ServerError as error:  # it accepted the prompt and computed it, whatever it said then
            self._expect(call)
            self.unreplayed.append(UnreplayedCall(call.id, call.session, str(error)))
            return
        expected = self._expect(call)
        fault = _fault(answer, len(call.prompt))
        if fault or answer.cached_tokens is None:
            self.unreplayed.append(UnreplayedCall(call.id, call.session, f"{UNCOUNTED}: {fault}"))
            return
        self.rows.append(self._row(call, answer, answer.cached_tokens, expected))

    def _expect(self, call: PlannedCall) -> int:
        """Tokens that the rule gives for this call; what it leaves is remembered. The server generates one token of its
        own, which leaves nothing; the logged reply is never in its cache.
        """
        expectation = self._expected.next(replace(call, reply=()))
        self._ideal.leave(call, expectation.left_tokens)
        return expectation.cached_tokens

    def _row(self, call: PlannedCall, answer: Completion, measured: int, expected: int) -> CallMeasurement:
        ideal = self._ideal.of(call, measured)
        ttft = milliseconds(answer.ttft)
        return CallMeasurement(
            id=call.id,
            session=call.session,
            agent=call.agent,
            prompt_tokens=len(call.prompt),
            output_tokens=1,
            ideal_cached_tokens=ideal,
            expected_cached_tokens=expected,
            measured_cached_tokens=measured,
            reported_cache_read_tokens=call.reported_cache_read_tokens,
            recomputed_tokens=ideal - measured,
            reasons={},
            cached_by_tier={},
            reused_bytes=None,
            copied_blocks=0,
            tail_slots=-len(call.prompt) % self._size,
            provenance=call.rendering.value,
            certainty=call.certainty,
            note=call.note,
            ttft_ms=ttft,
            timing=CallTiming(0.0, 0.0, ttft, 0.0, 0.0, 1),
        )


def _fault(answer: Completion, sent: int) -> str:
    """What is wrong with the server's numbers; "" if they can be true."""
    if answer.prompt_tokens is None or answer.cached_tokens is None:
        return "the server reported no count of cached_tokens (vLLM: start it with --enable-prompt-tokens-details)"
    if answer.prompt_tokens != sent:
        return f"{sent} tokens were sent, the server reported {answer.prompt_tokens}"
    if answer.cached_tokens >= sent:
        return f"the server reported {answer.cached_tokens} of {sent} tokens cached, which leaves none to compute"
    return ""


def _change(before: Counters, after: Counters) -> ServerCounters:
    def change(old: int | None, new: int | None) -> int | None:
        return None if old is None or new is None or new < old else new - old  # smaller: it was started anew

    return ServerCounters(change(before.queries, after.queries), change(before.hits, after.hits))


def _measurement(
    run: _ServerRun, client: ServerClient, options: ServerOptions, size: int, counters: ServerCounters
) -> Measurement:
    return Measurement(
        schema_version=MEASUREMENT_VERSION,
        engine=options.engine,
        model=client.model,
        model_note="as the server names it",
        device="server",
        mode=SERVER_MODE,
        kv_dtype="",
        block_size=size,
        concurrency=1,
        policy=None,
        scale=options.scale,
        calls=tuple(run.rows),
        unreplayed=tuple(run.unreplayed),
        server=counters,
    )
