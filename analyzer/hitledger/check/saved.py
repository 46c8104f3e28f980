"""A saved audit as traffic: no texts, but the digest and the tokens of every segment. Its figures are estimates."""

from collections.abc import Iterator
from pathlib import Path

from hitledger.errors import NothingToReadError
from hitledger.positions import Counter
from hitledger.results import Audit, CallResult, SegmentResult, load
from hitledger.types import CacheWrite, Call, Evidence, Kind, Parameter, Place, Prompt, Segment, Tier, Usage, prompt_of

START = b'{"breaks":'  # keys are sorted, so an audit starts so
HEAD_KINDS = {Kind.TOOL: Tier.TOOLS, Kind.SYSTEM: Tier.SYSTEM, Kind.SCHEMA: Tier.SYSTEM, Kind.HIDDEN: Tier.SYSTEM}
NOTE = "the logs are a saved audit: estimates by tokens only; texts inside a block cannot be replaced"


class RecordedCounter:
    """Counts that the audit recorded; what is new is counted."""

    def __init__(self, counter: Counter, counts: dict[bytes, int]) -> None:
        self._counter = counter
        self._counts = counts

    def count(self, segment: Segment, model: str) -> int:
        """Tokens of one segment."""
        found = self._counts.get(segment.digest)
        return self._counter.count(segment, model) if found is None else found


def is_audit(path: str) -> bool:
    """Whether a file is an audit that was saved with --json."""
    file = Path(path)
    if file.suffix != ".json" or not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(len(START)) == START


def recorded(path: str) -> tuple[tuple[Call, ...], dict[bytes, int]]:
    """Calls without texts, and the counted tokens by digest. Raises NothingToReadError."""
    audit: Audit = load(path)
    counts = {
        bytes.fromhex(segment.digest): segment.counted_tokens
        for row in audit.calls
        for segment in row.segments
        if segment.counted_tokens is not None
    }
    if not counts:
        raise NothingToReadError(f"{path}: an audit without the segments of full prompts; save it with `audit --json`")
    segments: dict[SegmentResult, Segment] = {}
    return tuple(_call(row, segments) for row in audit.calls), counts


def _call(row: CallResult, shared: dict[SegmentResult, Segment]) -> Call:
    return Call(
        id=row.id,
        session=row.session,
        agent=row.agent,
        place=Place(row.file, row.row),
        provider=row.provider,
        model=row.model,
        evidence=row.evidence,
        prompt=_prompt(row, shared) if row.evidence is Evidence.EXACT else Prompt(()),
        started_at=row.started_at,
        status=row.status,
        served_model=row.served_model,
        usage=_usage(row),
        route=(Parameter("session", "session", row.session),),
        tier=row.tier,
    )


def _usage(row: CallResult) -> Usage | None:
    if row.uncached_input_tokens is None:
        return None
    writes = None if row.cache_writes is None else tuple(CacheWrite(k, v) for k, v in sorted(row.cache_writes.items()))
    return Usage(row.uncached_input_tokens, row.cache_read_tokens, writes, row.output_tokens)


def _prompt(row: CallResult, shared: dict[SegmentResult, Segment]) -> Prompt:
    return prompt_of(tuple(_segments(row.segments, shared)))


def _segments(rows: tuple[SegmentResult, ...], shared: dict[SegmentResult, Segment]) -> Iterator[Segment]:
    message = ""
    for row in rows:
        found = shared.get(row)
        place = row.path.partition("]")[0]
        if found is None:
            tier = HEAD_KINDS.get(row.kind, Tier.MESSAGES)
            role = "" if tier is Tier.TOOLS else "system" if tier is Tier.SYSTEM else _role(row.kind)
            digest = bytes.fromhex(row.digest)
            opens = tier is Tier.MESSAGES and place != message
            chars = (row.counted_tokens or 0) * 4
            found = shared[row] = Segment(row.kind, tier, row.path, role, digest, chars, None, row.ttl, opens)
        message = place
        yield found


def _role(kind: Kind) -> str:
    return "assistant" if kind in (Kind.TOOL_USE, Kind.THINKING) else "tool" if kind is Kind.TOOL_RESULT else "user"
