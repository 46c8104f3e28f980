"""What a replay measured, as a value, and its JSON. The file is versioned; its fields are documented in docs/engine.md.

Token counts are exact for the prompts that were run (`certainty` says how near these are to the logged ones). Times
are those of one machine and are left out of the exact part: `exact_json` gives the same bytes on every machine.
"""

from dataclasses import dataclass, replace

from hitledger.jsonfile import content_of, decode, encode
from hitledger.types import Certainty

MEASUREMENT_VERSION = 1
PLAN_MODE = "plan"
"""The mode of a replay of the block pool alone: no prompt was computed or timed."""
SERVER_MODE = "server"
"""The mode of a replay on somebody else's server."""


@dataclass(frozen=True, slots=True)
class CallTiming:
    """Milliseconds until the first token, by what they were spent on: medians over the runs."""

    lookup_ms: float
    load_ms: float
    compute_ms: float
    sample_ms: float
    spread_ms: float  # slowest minus fastest run
    runs: int


@dataclass(frozen=True, slots=True)
class CallMeasurement:
    """One call. The four figures of reuse are kept apart: tokens, bytes, copies and tail waste, lookup and load time."""

    id: str
    session: str
    agent: str
    prompt_tokens: int
    output_tokens: int
    ideal_cached_tokens: int  # what the predecessor left in whole blocks, capped by this prompt
    expected_cached_tokens: int  # by the engine's rule, computed without the engine
    measured_cached_tokens: int
    reported_cache_read_tokens: int | None
    recomputed_tokens: int  # ideal - measured: what a break made the engine compute again
    reasons: dict[str, int]  # of the tokens that were not reused; they sum to prompt - measured
    cached_by_tier: dict[str, int]
    reused_bytes: int | None  # None where no tensors were held
    copied_blocks: int
    tail_slots: int
    provenance: str  # token ids | chat template | text | stand-in
    certainty: Certainty
    note: str
    ttft_ms: float | None = None
    predicted_ttft_ms: float | None = None  # by the fitted model, from the same machine
    ttft_without_break_ms: float | None = None  # measured with the ideal prefix cached; None where nothing was lost
    predicted_ttft_without_break_ms: float | None = None
    timing: CallTiming | None = None


@dataclass(frozen=True, slots=True)
class UnreplayedCall:
    """A call that was not run, and why."""

    id: str
    session: str
    reason: str


@dataclass(frozen=True, slots=True)
class FittedTtft:
    """TTFT = constant + per_token (n - p) + per_pair (n^2 - p^2) + load, in milliseconds; fitted on this device."""

    constant_ms: float
    per_token_ms: float
    per_pair_ms: float
    samples: int
    worst_relative_error: float


@dataclass(frozen=True, slots=True)
class MemoryLedger:
    """Bytes at the fullest moment. live + rounding + free are the pool's tensor storage, to the byte."""

    pool_bytes: int
    live_bytes: int
    rounding_bytes: int  # slots of unfilled blocks
    free_bytes: int  # blocks that hold nothing
    scale_bytes: int
    metadata_bytes: int  # block tables and slot mappings, 4 bytes a block and 8 a token
    workspace_bytes: int | None  # by the allocator's own counters; None where the device has none
    host_bytes: int
    bytes_per_token: int


@dataclass(frozen=True, slots=True)
class ServerCounters:
    """How the server's own counters changed over the replay, in tokens; None where it has no such counter."""

    queries: int | None
    hits: int | None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One replay. `concurrency` is the number of requests that were in flight at once."""

    schema_version: int
    engine: str
    model: str
    model_note: str
    device: str
    mode: str
    kv_dtype: str
    block_size: int
    concurrency: int
    policy: str | None
    scale: float
    calls: tuple[CallMeasurement, ...]
    unreplayed: tuple[UnreplayedCall, ...]
    ttft_model: FittedTtft | None = None
    memory: MemoryLedger | None = None
    server: ServerCounters | None = None


def to_json(measurement: Measurement) -> bytes:
    """Same measurement, same bytes."""
    return encode(measurement)


def exact_json(measurement: Measurement) -> bytes:
    """The part that does not depend on the machine: everything but times and the device's memory."""
    calls = tuple(
        replace(
            call,
            ttft_ms=None,
            predicted_ttft_ms=None,
            ttft_without_break_ms=None,
            predicted_ttft_without_break_ms=None,
            timing=None,
        )
        for call in measurement.calls
    )
    return to_json(replace(measurement, calls=calls, ttft_model=None, memory=None, device=""))


def from_json(content: bytes, name: str) -> Measurement:
    """Read a measurement back. Raises NothingToReadError naming the file and the field that is wrong."""
    return decode(content, name, Measurement, MEASUREMENT_VERSION, "replay again")


def load(path: str) -> Measurement:
    """Read a measurement file. Raises NothingToReadError."""
    return from_json(content_of(path), path)
