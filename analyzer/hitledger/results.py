"""The audit as a value, and its JSON. The file is versioned; its fields are documented in docs/json.md."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec.structs import replace

from hitledger.errors import NothingToReadError
from hitledger.jsonfile import content_of, decode, encode
from hitledger.types import Certainty, Evidence, Kind

SCHEMA_VERSION = 1
MONEY_FIELDS = ("cost", "cost_without_cache", "logged_cost", "computed_cost", "break_cost")
MOST_USD = Decimal(10**12)
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # more is no figure of any log, and no column
WARMED = "warmed"  # note of a call that read what only an unlogged call can have written


class SkippedRow(msgspec.Struct, frozen=True):
    """A row that could not be used."""

    file: str
    row: Whole  # from 1
    reason: str


class FileIngest(msgspec.Struct, frozen=True):
    """What became of one file: rows == calls + sum(known) + skipped."""

    file: str
    format: str
    rows: Whole
    calls: Whole
    known: dict[str, Whole]
    skipped: Whole
    notes: dict[str, Whole]


class IngestResult(msgspec.Struct, frozen=True):
    """What was read, row by row, and what was refused."""

    files: tuple[FileIngest, ...]
    skips: tuple[SkippedRow, ...]  # at most 1,000 a file are listed, all are counted
    refused: tuple[SkippedRow, ...]  # whole files, row 0


class SegmentResult(msgspec.Struct, frozen=True):
    """One segment of a prompt. `tokens` is None where nothing was counted."""

    kind: Kind
    path: str
    tokens: Whole | None
    digest: str
    marked: bool
    ttl: str | None = None
    counted_tokens: Whole | None = None  # by the public tokenizer, before it is scaled to the logged totals


class Attribution(msgspec.Struct, frozen=True):
    """Where ideal − reported went, in tokens; the parts sum to it (never negative, exact where usage is)."""

    client: Whole = 0  # content, parameters, model, route, marks: what the user can mend
    expired: Whole = 0  # the lifetime ran out
    below_minimum: Whole = 0
    beyond_lookback: Whole = 0
    server: Whole = 0  # documented server-side rewriting (thinking stripped), cold parallel starts
    unexplained: Whole = 0  # expected by the rule, not read: routing, eviction, or a fault in our rule


class CallResult(msgspec.Struct, frozen=True, gc=False):
    """One call with its four columns. Token counts are None where unknown, never 0."""

    id: str
    session: str
    agent: str
    parent_agent: str
    project: str
    file: str
    row: Whole
    index: Whole  # 0-based, order of the input
    index_in_session: Whole  # 0-based
    predecessor: str | None  # id of the call whose messages this one continues
    compared_with: str | None  # id of the call that left the longest readable prefix under the same key
    started_at: datetime | None
    gap_seconds: float | None  # since the predecessor's start
    provider: str
    model: str
    served_model: str
    tier: str
    evidence: Evidence
    status: Whole
    ttl: str | None  # lifetime in force: the shortest one marked or written
    purpose: str
    events: tuple[str, ...]
    shared_segments: Whole  # leading segments equal to the predecessor's and not repeated below (0 for exact evidence)
    segments: tuple[SegmentResult, ...]
    common_prefix_tokens: Whole | None  # what this prompt and its predecessor's literally share
    input_tokens: Whole | None
    uncached_input_tokens: Whole | None
    cache_read_tokens: Whole | None
    cache_write_tokens: Whole | None
    cache_writes: dict[str, Whole] | None  # by lifetime
    output_tokens: Whole | None
    ideal_cache_read_tokens: Whole | None
    expected_cache_read_tokens: Whole | None
    expected_cache_read_range: tuple[Whole, Whole] | None  # for best-effort providers
    expected_cache_write_tokens: Whole | None
    attribution: Attribution | None
    cost: Decimal | None
    cost_without_cache: Decimal | None  # every input token at the input rate
    cost_source: str | None  # logged | usage x price | expected x price
    logged_cost: Decimal | None
    provider_reason: str | None
    certainty: dict[str, Certainty]  # of each figure that is not exact
    notes: tuple[str, ...]
    computed_cost: Decimal | None = None  # usage x price, beside a logged cost


class Break(msgspec.Struct, frozen=True):
    """A call that read less than its predecessor left readable, and why."""

    call: str
    session: str
    agent: str
    index: Whole
    index_in_session: Whole
    cause: str
    confidence: str  # certain | likely | possible
    path: str  # JSON path of the first changed value; "(none)" where the payload is append-only
    char_offset: Whole | None
    token_offset: Whole | None
    readable_before: Whole
    lost_tokens: Whole
    rebilled_tokens: Whole
    cost: Decimal | None
    before: str | None  # short redacted window around the first difference
    after: str | None
    provider_reason: str | None
    agrees_with_provider: bool | None
    note: str
    fix: str
    certainty: Certainty  # of lost_tokens and rebilled_tokens
    cost_certainty: Certainty = Certainty.EXACT


class Finding(msgspec.Struct, frozen=True):
    """A problem that is no break."""

    call: str
    index: Whole
    cause: str
    confidence: str
    path: str
    note: str
    fix: str


class RuleUsed(msgspec.Struct, frozen=True):
    """A provider rule that was applied, with its source."""

    id: str
    provider: str
    algorithm: str
    valid_from: str
    evidence: str
    source: str
    checked: str
    calls: Whole
    notes: tuple[str, ...]


class PriceUsed(msgspec.Struct, frozen=True):
    """A price that was applied. Rates are USD per million tokens; an unknown price has none and says why."""

    model: str
    provider: str
    tier: str
    calls: Whole
    input: Decimal | None
    cache_read: Decimal | None
    cache_writes: dict[str, Decimal]
    output: Decimal | None
    source: str
    error: str | None
    notes: tuple[str, ...] = ()  # what was taken for granted at this price


class CauseTotal(msgspec.Struct, frozen=True):
    """All breaks of one cause."""

    cause: str
    breaks: Whole
    lost_tokens: Whole
    rebilled_tokens: Whole
    cost: Decimal | None


class Totals(msgspec.Struct, frozen=True):
    """Sums over calls. Figures of calls without usage or price are left out and counted."""

    calls: Whole
    sessions: Whole
    calls_without_usage: Whole
    calls_without_price: Whole
    input_tokens: Whole
    uncached_input_tokens: Whole
    cache_read_tokens: Whole
    cache_write_tokens: Whole
    output_tokens: Whole
    hit_rate: float | None  # cache_read_tokens / input_tokens, of the calls that report reads
    ideal_cache_read_tokens: Whole
    expected_cache_read_tokens: Whole
    cost: Decimal | None
    cost_without_cache: Decimal | None
    break_cost: Decimal | None
    lost_tokens: Whole
    rebilled_tokens: Whole
    small_breaks: Whole  # below --min-loss, or missed where nothing is promised: counted here, not listed
    small_lost_tokens: Whole
    evidence: dict[str, Whole]  # calls by evidence class
    by_cause: tuple[CauseTotal, ...]
    calibration: "Calibration | None" = None
    logged_costs: "LoggedCosts | None" = None


class LoggedCosts(msgspec.Struct, frozen=True):
    """The log's own costs beside usage x price, over calls that have both."""

    calls: Whole
    logged: Decimal
    computed: Decimal
    not_taken: dict[
        str, Whole
    ]  # calls whose logged cost is known to leave something out, by what: the computed one counts


class Calibration(msgspec.Struct, frozen=True):
    """How well the rules reproduced the reported reads, over calls with a predecessor and both figures."""

    calls: Whole
    exact: Whole
    within_block: Whole  # 128 tokens
    within_1_percent: Whole  # of the prompt, or 16 tokens
    token_weighted_error: float  # sum |expected - reported| / sum prompt
    warmed: Whole = 0  # left out: they read more than any logged call had left of their prompt


class SessionResult(msgspec.Struct, frozen=True):
    """One session as the log calls it."""

    id: str
    project: str
    agents: tuple[str, ...]
    calls: Whole
    started_at: datetime | None
    ended_at: datetime | None
    models: tuple[str, ...]
    input_tokens: Whole
    cache_read_tokens: Whole
    cache_write_tokens: Whole
    output_tokens: Whole
    hit_rate: float | None
    cost: Decimal | None
    break_cost: Decimal | None
    breaks: Whole


class Audit(msgspec.Struct, frozen=True):
    """Everything an audit found."""

    schema_version: Whole
    ingest: IngestResult
    totals: Totals
    sessions: tuple[SessionResult, ...]
    calls: Sequence[CallResult]  # a tuple, or a table that makes each when it is looked at (see AuditOptions)
    breaks: tuple[Break, ...]  # worst first: by cost, then rebilled tokens
    findings: tuple[Finding, ...]
    rules: tuple[RuleUsed, ...]
    prices: tuple[PriceUsed, ...]


def to_json(audit: Audit) -> bytes:
    """Same audit, same bytes."""
    return encode(replace(audit, calls=tuple(audit.calls)))


def from_json(content: bytes, name: str) -> Audit:
    """Read an audit back. Raises NothingToReadError naming the file and the field that is wrong."""
    audit = decode(content, name, Audit, SCHEMA_VERSION, "audit the log again")
    _refuse_no_money(audit, name)
    return replace(audit, calls=tuple(audit.calls))


def _refuse_no_money(audit: Audit, name: str) -> None:
    """JSON has money as strings, and those can say NaN, Infinity and 1e999999: no figure of any report."""
    parts: tuple[tuple[str, Sequence[msgspec.Struct]], ...] = (
        ("calls", audit.calls),
        ("breaks", audit.breaks),
        ("sessions", audit.sessions),
        ("totals", (audit.totals,)),
    )
    for part, rows in parts:
        fields = [field for field in MONEY_FIELDS if rows and field in rows[0].__struct_fields__]
        for number, row in enumerate(rows):
            for field in fields:
                amount = getattr(row, field)
                if amount is not None and not (amount.is_finite() and abs(amount) < MOST_USD):
                    raise NothingToReadError(f"{name}: {part}[{number}].{field}: {amount} is no amount of money")


def load(path: str) -> Audit:
    """Read an audit file. Raises NothingToReadError."""
    return from_json(content_of(path), path)
