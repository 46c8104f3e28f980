"""Our own audit JSON as a trace: prompts as chains of segments, cut into blocks.

A block is the same in two prompts iff all segments up to its last token are. Text shared inside two different
segments is not counted, since the audit keeps a digest of a segment and not its text. Token counts are the audit's own, with
whatever certainty it gives them; calls without segments or counts cannot be placed and are left out.
"""

from datetime import datetime
from pathlib import Path

from hitledger.results import Audit, CallResult, SegmentResult, load
from hitledger_replay.errors import TraceError
from hitledger_replay.traces.trace import Trace, TraceBuilder

BLOCK_SIZE = 16


def read_audit(path: Path, block_size: int = BLOCK_SIZE) -> Trace:
    """Read an audit file. Raises NothingToReadError for a file that is none, TraceError if no call can be placed."""
    return audit_trace(load(str(path)), path, block_size)


def audit_trace(audit: Audit, path: Path, block_size: int = BLOCK_SIZE) -> Trace:
    """The calls in order of their start. Calls of another model or provider share nothing."""
    builder = TraceBuilder(path.stem, path.name, block_size, place="call")
    segments: dict[str, tuple[SegmentResult, ...]] = {}
    numbers: dict[tuple[object, ...], int] = {}
    sessions: dict[str, int] = {}
    first = min((call.started_at for call in audit.calls if call.started_at), default=None)
    for call in sorted(audit.calls, key=lambda call: (_seconds(call, first), call.index)):
        own = segments[call.id] = _segments(call, segments)
        counted = [segment.tokens for segment in own if segment.tokens is not None]
        if not counted or len(counted) < len(own) or sum(counted) == 0:
            continue
        ids = _block_ids(call, own, block_size, numbers)
        session = sessions.setdefault(call.session, len(sessions))
        builder.add(call.index + 1, ids, (sum(counted), call.output_tokens or 0), _seconds(call, first), session)
    if not builder.num_rows:
        raise TraceError(f"{path.name}: no call with counted segments; audit the log again with its segments listed")
    return builder.build()


def _seconds(call: CallResult, first: datetime | None) -> float:
    return (call.started_at - first).total_seconds() if call.started_at and first else 0.0


def _segments(call: CallResult, known: dict[str, tuple[SegmentResult, ...]]) -> tuple[SegmentResult, ...]:
    """All segments of a prompt: those it shares with its predecessor are written only once."""
    before = known.get(call.predecessor or "", ())
    return before[: call.shared_segments] + call.segments


def _block_ids(
    call: CallResult, segments: tuple[SegmentResult, ...], block_size: int, numbers: dict[tuple[object, ...], int]
) -> list[int]:
    """One number for each block, a partial last one included: (segments up to its end, place of the block)."""
    chain = numbers.setdefault((call.provider, call.model), len(numbers))
    ids: list[int] = []
    end = 0
    for segment in segments:
        chain = numbers.setdefault((chain, segment.digest, segment.tokens), len(numbers))
        end += segment.tokens or 0
        while (len(ids) + 1) * block_size <= end:
            ids.append(numbers.setdefault((chain, "block", len(ids)), len(numbers)))
    if end % block_size:
        ids.append(numbers.setdefault((chain, "tail", len(ids)), len(numbers)))
    return ids
