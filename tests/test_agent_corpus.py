"""The whole corpus of agents' logs: read or refused with the reason, every row counted, as many calls as its index has."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from hitledger.errors import NothingToReadError
from hitledger.logs.detect import detect
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from log_reading import CORPUS

FOLDERS = (
    *("gemini-cli", "copilot-cli", "opencode", "pi", "cline-roo-kilo", "goose", "aider", "openhands", "swe-agent"),
    *("mini-swe-agent", "inspect-ai", "other-agents"),
)
# Where the index has a number and we another, and why ours is right.
DECIDED = {
    "copilot__small.jsonl": 6,  # a request that was refused with 400 is a call
    "function_calling_simple.traj": 0,  # a demonstration: nothing was sent (the index failed on it)
    "github_issue.traj.json": 10,  # bare lists of messages, on which the index failed
    "local.traj.json": 2,
}
# Files that the index did not count (0 and no kind of usage), and what is in them.
UNCOUNTED = {
    "s_stage0_large__msg_0004.json": 1,
    "s_stage0_small__msg_0002.json": 1,
    "s_stage0_drift__msg_0002.json": 1,
    "s_stage0_large__msg_0002.json": 1,
    "m_assistant_large_1__006.json": 1,
    "0017-message.part.updated.json": 1,
    "0018-message.updated.json": 1,
    "msg_test001.json": 1,
    "kimi__assistant_tools.jsonl": 25,
    "kimi__small.jsonl": 13,
    "kimi__subagent_agent-0.jsonl": 3,
    "qwen__system_telemetry.jsonl": 1,
    "019f0000-0000-7000-8000-000000000004.jsonl": 2,
    "019f0000-0000-7000-8000-000000000001.jsonl": 2,
    "openclaw__large.jsonl": 3,
    "openclaw__schema_drift.jsonl": 1,
    "openclaw__small.jsonl": 1,
    "success.messages.json": 2,
    "sample_session.jsonl": 2,
    "software-agent-sdk__fixtures__events.jsonl": 4,
    "trajs__basic_gui_mode.json": 5,
    "trajs__basic.json": 2,
    "trajs__wrong_initial_state.json": 4,
    "trajs__basic_interactions.json": 3,
    "log_images_tc.json": 1,  # early logs keep their events in `transcript`
    "log_formats.json": 1,
    "log_streaming.eval": 4,  # archives
    "log_message_deduplication.eval": 6,
    "hxs4q9azL3ySGkjJirypKZ.eval": 2,
    "custom.eval": 2,
    "log_read_sample.eval": 1,
    "log_formats.eval": 1,
}
# Scrubbing left a broken escape in these documents.
BROKEN = ("b423bff7-6fec-40fe-a00e-bb2a0ebb52f4__api_conversation_history.json", "__deepseek-chat-")
REFUSED_BY_KIND = (
    *("expected.json", "cursor__", "droid__", "grok__", "antigravity__", "hermes__", "fncall-llm-message.json"),
    *("openai_gateway__", "assistant-message-with-thinking-code.json", "__subagent__", "__subagents__"),
)

pytestmark = pytest.mark.skipif(not (CORPUS / "INDEX.tsv").is_file(), reason="the corpus is not here")


def indexed() -> Iterator[tuple[Path, int]]:
    with (CORPUS / "INDEX.tsv").open(newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            if row["format"] in FOLDERS:
                yield CORPUS / row["file"], int(row["requests"])


def expected(path: Path, number: int) -> int:
    for decided in (DECIDED, UNCOUNTED):
        for ending, calls in decided.items():
            if path.name.endswith(ending):
                return calls
    return number


def is_broken(path: Path) -> bool:
    return any(part in path.name for part in BROKEN)


def test_every_file() -> None:
    files = [(path, number) for path, number in indexed() if not is_broken(path)]
    assert len(files) == 219
    for path, number in files:
        file = LogFile(path, path.name)
        ingest = Ingest()
        calls = list(detect(file).read((file,), ingest))
        assert all(ledger.balanced for ledger in ingest.ledgers), path
        assert len(calls) == expected(path, number), path
        assert bool(ingest.refusals) == any(part in path.name for part in REFUSED_BY_KIND), path


def test_broken_documents_are_refused_with_the_place() -> None:
    broken = [path for path, _ in indexed() if is_broken(path)]
    assert len(broken) == 5
    for path in broken:
        with pytest.raises(NothingToReadError, match="line 1: not valid JSON"):
            detect(LogFile(path, path.name))


def test_all_at_once() -> None:
    """Everything in one go: what is copied between files counts once, nothing is read by two readers."""
    ingest, by_reader = Ingest(), {}
    for path, _ in indexed():
        file = LogFile(path, str(path.relative_to(CORPUS)))
        if not is_broken(path):
            reader = detect(file)
            by_reader.setdefault(reader.format, (reader, []))[1].append(file)
    calls = [call for reader, files in by_reader.values() for call in reader.read(tuple(files), ingest)]
    assert all(ledger.balanced for ledger in ingest.ledgers)
    assert len(calls) == sum(ledger.calls for ledger in ingest.ledgers)
    assert len({(call.place.file, call.place.row, call.id, call.agent) for call in calls}) == len(calls)
