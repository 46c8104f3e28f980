"""Audits made by hand for the tests of the reports: small, the same at every run, every figure computed from the calls."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from msgspec.structs import replace

from hitledger.results import (
    SCHEMA_VERSION,
    Attribution,
    Audit,
    Break,
    CallResult,
    FileIngest,
    Finding,
    IngestResult,
    PriceUsed,
    RuleUsed,
    SegmentResult,
    SkippedRow,
)
from hitledger.sums import by_session
from hitledger.totals import sessions_of, totals_of
from hitledger.types import Certainty, Evidence, Kind

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
READ, WRITE, INPUT, OUTPUT = Decimal("0.3"), Decimal("3.75"), Decimal(3), Decimal(15)  # USD per million tokens
MILLION = Decimal(1_000_000)


def call(index: int, read: int, written: int, uncached: int = 4, minute: float = 0.0, **changes: object) -> CallResult:
    """A call with these tokens, priced at the rates above; `minute` counts from START."""
    prompt = read + written + uncached
    cost = (read * READ + written * WRITE + uncached * INPUT + 500 * OUTPUT) / MILLION
    fixed = CallResult(
        id=f"c{index}",
        session="s-aaaa",
        agent="main",
        parent_agent="",
        project="shop",
        file="logs/a.jsonl",
        row=index + 1,
        index=index,
        index_in_session=index,
        predecessor=f"c{index - 1}" if index else None,
        compared_with=f"c{index - 1}" if index else None,
        started_at=START + timedelta(minutes=minute),
        gap_seconds=60.0 if index else None,
        provider="anthropic",
        model="claude-sonnet-4-5",
        served_model="claude-sonnet-4-5-20250929",
        tier="",
        evidence=Evidence.EXACT,
        status=200,
        ttl="5m",
        purpose="",
        events=(),
        shared_segments=0,
        segments=(
            SegmentResult(Kind.TOOL, "tools[0]", 2_000, "d0", False),
            SegmentResult(Kind.SYSTEM, "system[0]", 3_000, "d1", True, "5m"),
            SegmentResult(Kind.TEXT, "messages[0].content[0]", max(prompt - 5_000, 0), f"d{index + 2}", True, "5m"),
        ),
        common_prefix_tokens=read,
        input_tokens=prompt,
        uncached_input_tokens=uncached,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_writes={"5m": written},
        output_tokens=500,
        ideal_cache_read_tokens=read,
        expected_cache_read_tokens=read,
        expected_cache_read_range=None,
        expected_cache_write_tokens=written,
        attribution=Attribution(),
        cost=cost,
        cost_without_cache=(prompt * INPUT + 500 * OUTPUT) / MILLION,
        cost_source="usage x price",
        logged_cost=None,
        provider_reason=None,
        certainty={},
        notes=(),
    )
    return replace(fixed, **changes)  # type: ignore[arg-type]


def broken(found: CallResult, cause: str, lost: int, **changes: object) -> Break:
    """A break at this call; all lost tokens were written again."""
    fixed = Break(
        call=found.id,
        session=found.session,
        agent=found.agent,
        index=found.index,
        index_in_session=found.index_in_session,
        cause=cause,
        confidence="certain",
        path="system[0].text",
        char_offset=1_204,
        token_offset=2_311,
        readable_before=(found.cache_read_tokens or 0) + lost,
        lost_tokens=lost,
        rebilled_tokens=lost,
        cost=lost * (WRITE - READ) / MILLION,
        before="You are the shop's assistant. Now: 2026-03-02 09:04:11. Be brief.",
        after="You are the shop's assistant. Now: 2026-03-02 09:05:37. Be brief.",
        provider_reason=None,
        agrees_with_provider=None,
        note="The clock stands in the system prompt.",
        fix="Move the clock out of the system prompt to the newest user message.",
        certainty=Certainty.EXACT,
    )
    return replace(fixed, **changes)  # type: ignore[arg-type]


def audit_of(calls: Sequence[CallResult], breaks: Sequence[Break] = (), **changes: object) -> Audit:
    """An audit over these calls, its totals and sessions added up from them."""
    fixed = Audit(
        schema_version=SCHEMA_VERSION,
        ingest=IngestResult(
            (FileIngest("logs/a.jsonl", "anthropic-messages", len(calls) + 3, len(calls), {"summary": 2}, 1, {}),),
            (SkippedRow("logs/a.jsonl", 7, "not JSON: unexpected end"),),
            (),
        ),
        totals=totals_of(by_session(calls), breaks, ()),
        sessions=sessions_of(by_session(calls), breaks),
        calls=tuple(calls),
        breaks=tuple(sorted(breaks, key=lambda one: (-(one.cost or 0), -one.rebilled_tokens))),
        findings=(),
        rules=(
            RuleUsed(
                "anthropic.breakpoints.2025-05", "anthropic", "breakpoints", "2025-05-22", "published",
                "https://docs.example/prompt-caching", "2026-02-01", len(calls), (),
            ),
        ),
        prices=(
            PriceUsed(
                "claude-sonnet-4-5", "anthropic", "", len(calls), INPUT, READ, {"5m": WRITE}, OUTPUT, "genai-prices", None
            ),
        ),
    )  # fmt: skip
    return replace(fixed, **changes)  # type: ignore[arg-type]


CHANGED = (
    SegmentResult(Kind.TOOL, "tools[0]", 2_000, "d0", False),
    SegmentResult(Kind.SYSTEM, "system[0]", 3_000, "d1-changed", True, "5m"),
    SegmentResult(Kind.TEXT, "messages[0].content[0]", 9_904, "d4", True, "5m"),
)


def shop() -> Audit:
    """Two sessions, one with a sub-agent; a clock in the system prompt, an expiry, a finding, a refused call."""
    calls = [
        call(0, 0, 12_000, minute=0, ideal_cache_read_tokens=0),
        call(1, 12_000, 1_500, minute=1),
        call(
            2, 2_000, 12_900, minute=2, segments=CHANGED, ideal_cache_read_tokens=13_500, attribution=Attribution(client=11_500)
        ),
        call(3, 14_900, 800, minute=3),
        call(4, 0, 6_000, minute=3.5, session="s-aaaa", agent="explore-1", parent_agent="main", predecessor=None),
        call(5, 6_000, 900, minute=4, agent="explore-1", parent_agent="main", predecessor="c4"),
        call(
            6, 0, 16_900, minute=14, predecessor="c3", gap_seconds=660.0, ideal_cache_read_tokens=15_700,
            expected_cache_read_tokens=0, attribution=Attribution(expired=15_700),
        ),
        call(7, 0, 9_000, minute=1_500, session="s-bbbb", project="billing", index_in_session=0, predecessor=None),
        call(
            8, 9_000, 400, minute=1_501, session="s-bbbb", project="billing", index_in_session=1,
            ideal_cache_read_tokens=9_004, certainty={"ideal_cache_read_tokens": Certainty.CALIBRATED},
            evidence=Evidence.RECONSTRUCTED, attribution=Attribution(unexplained=4),
        ),
        call(
            9, 0, 0, minute=1_502, session="s-bbbb", project="billing", index_in_session=2, status=400,
            input_tokens=None, uncached_input_tokens=None, cache_read_tokens=None, cache_write_tokens=None,
            cache_writes=None, output_tokens=None, ideal_cache_read_tokens=None, expected_cache_read_tokens=None,
            expected_cache_write_tokens=None, common_prefix_tokens=None, attribution=None, cost=None,
            cost_without_cache=None, cost_source=None, segments=(),
        ),
    ]  # fmt: skip
    breaks = [
        broken(calls[2], "system.volatile_time", 11_500),
        broken(
            calls[6], "ttl.expired", 15_700, confidence="likely", path="(none)", char_offset=None, token_offset=None,
            before=None, after=None, note="11 min passed, the lifetime is 5 min.",
            fix="Use the 1h tier for sessions with pauses of 5 to 60 min, or keep alive.",
            provider_reason="cache_expired", agrees_with_provider=True, certainty=Certainty.CALIBRATED,
        ),
    ]  # fmt: skip
    finding = Finding(
        "c9",
        9,
        "breakpoint.too_many",
        "certain",
        "messages",
        "Five marks, four are allowed.",
        "Drop the earliest mark.",
    )
    return audit_of(calls, breaks, findings=(finding,))


def secretive() -> Audit:
    """One session whose texts are attacks and secrets; nothing of it may take effect or be shown."""
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}{% raw %}\x1b[31m\x1b]0;t\x07\u202eabc"
    key = "sk-ant-api03-" + "a1B2c3D4" * 6
    calls = [
        call(0, 0, 12_000, session=evil, project=f"=cmd|' /C calc'!A0 {evil}", model=evil, file=f"{evil}.jsonl"),
        call(1, 0, 13_000, minute=1, session=evil, agent=f"{evil}|x`y", model=evil, id=f"c1{evil}", project="@SUM(A1)"),
    ]
    breaks = [
        broken(
            calls[1], "system.volatile_id", 12_000, path=f"system[0].{evil}`|`", before=f"key {key} {evil}" + "A" * 1_000_000,
            after=f"key {key}x {evil} ghp_{'Zz9' * 12} postgres://u:hunter2@h/d @everyone #1 ![x](http://h/p.png)",
            note=evil, fix=f"[click](javascript:alert(1)) {evil}", provider_reason=evil, agrees_with_provider=False,
        )
    ]  # fmt: skip
    finding = Finding(calls[0].id, 0, "tools.key_order", "provider-dependent", evil, evil, evil)
    return audit_of(calls, breaks, findings=(finding,))
