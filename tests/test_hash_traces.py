"""Traces that hold block hashes: Mooncake, Qwen-Bailian, kv-cache-tester."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from hitledger.logs.files import LogFile
from hitledger.logs.hash_blocks import HashPrompts
from hitledger.prefix import common_segments
from hitledger.tokens import DIGITS_PER_ID, TokenCounter
from hitledger.types import Evidence, Kind
from log_fixtures import claims, content_of, figures, read
from log_reading import ROOT, fixture

MOONCAKE, BAILIAN = fixture("mooncake/conversation.jsonl"), fixture("bailian/qwen.jsonl")
TESTER = fixture("kv-cache-tester/trace_0010.json")
TRACES = ROOT.parent / "shared" / "traces" / "mooncake-fast25"
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def test_mooncake() -> None:
    calls, ledger = read("mooncake", MOONCAKE)
    assert claims(MOONCAKE) == ["mooncake"]
    assert (ledger.rows, ledger.calls) == (40, 40)
    assert figures(calls[0]) == (6758, None, None, 500)
    assert len(calls[0].prompt) == 14
    assert calls[0].prompt.segments()[13].path == "hash_ids[13]"
    assert {segment.kind for call in calls for segment in call.prompt.segments()} == {Kind.TOKENS}
    assert {segment.text for call in calls for segment in call.prompt.segments()} == {None}
    assert {(call.evidence, call.notes, call.provider) for call in calls} == {(Evidence.USAGE_ONLY, ("hash_only",), "")}
    assert common_segments(calls[0].prompt, calls[1].prompt) == 1  # both start with block 0


def test_blocks_count_as_their_tokens() -> None:
    counter = TokenCounter()
    for call in read("bailian", BAILIAN)[0]:
        counted = sum(counter.count(segment, "") for segment in call.prompt.segments())
        assert call.usage is not None
        assert counted == call.usage.input_tokens


def test_bailian_conversations_follow_their_parents() -> None:
    calls, ledger = read("bailian", BAILIAN)
    assert claims(BAILIAN) == ["bailian"]
    assert ledger.calls == 3
    assert [(call.id, call.session) for call in calls] == [("7", "7"), ("8", "8"), ("9", "7")]
    assert calls[2].started_at == EPOCH + timedelta(seconds=60.25)
    assert common_segments(calls[0].prompt, calls[2].prompt) == 2


def test_kv_cache_tester_with_a_sub_agent() -> None:
    calls, ledger = read("kv-cache-tester", TESTER)
    assert claims(TESTER) == ["kv-cache-tester"]
    assert (ledger.rows, ledger.calls, ledger.known_rows) == (10, 9, {"sub-agent": 1})
    assert [call.agent for call in calls].count("agent_001") == 3
    inner = next(call for call in calls if call.agent == "agent_001")
    assert (inner.parent_agent, inner.model) == ("main", "claude-haiku-4-5-20251001")
    assert inner.started_at == EPOCH + timedelta(seconds=100.65)  # its clock starts when it was started
    assert [call.started_at for call in calls] == sorted(call.started_at for call in calls if call.started_at)
    assert figures(calls[0]) == (17209, None, None, 275)
    main = [call for call in calls if call.agent == "main"]
    assert common_segments(main[0].prompt, main[1].prompt) == 268


def test_local_ids_of_two_sessions_are_different_content() -> None:
    other = {**json.loads(content_of(TESTER)), "id": "trace_9999"}
    calls, _ = read("kv-cache-tester", TESTER, LogFile(None, "other", json.dumps(other).encode()))
    assert common_segments(calls[0].prompt, calls[9].prompt) == 0


def test_prompts_that_go_on_share_what_they_extend() -> None:
    prompts = HashPrompts("s", 4)
    first, second = prompts.prompt([1, 2], 8), prompts.prompt([1, 2, 3], 9)
    assert second.base is first
    third = prompts.prompt([1, 2, 3, 4], 16)  # block 3 was part full before, so it is not the same block now
    assert third.base is None
    assert [segment.chars for segment in third.segments()] == [24, 24, 24, 24]
    assert third.segments()[0] is first.segments()[0]


@pytest.mark.skipif(not TRACES.is_dir(), reason="../shared/traces is not here")
@pytest.mark.parametrize(
    ("name", "requests", "hit_rate"), [("conversation_trace", 12031, 0.3736), ("synthetic_trace", 3993, 0.6512)]
)
def test_whole_mooncake_traces(name: str, requests: int, hit_rate: float) -> None:
    """What a cache without limit would read: the share published for these traces with blocks of 512."""
    path = TRACES / f"{name}.jsonl"
    calls, ledger = read("mooncake", LogFile(path, path.name))
    assert (ledger.calls, ledger.skipped) == (requests, 0)
    seen: set[bytes] = set()
    tokens = read_tokens = 0
    for call in calls:
        segments = call.prompt.segments()
        known = next((i for i, segment in enumerate(segments) if segment.digest not in seen), len(segments))
        read_tokens += sum(segment.chars for segment in segments[:known]) // DIGITS_PER_ID
        tokens += call.input_tokens or 0
        seen |= {segment.digest for segment in segments}
    assert round(read_tokens / tokens, 4) == hit_rate
