"""Codex rollouts: a call per change of the totals, prompts from items, replays of a parent."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hitledger.logs import codex
from hitledger.logs.files import LogFile
from hitledger.logs.read import read_logs
from hitledger.types import Evidence
from log_fixtures import made
from log_reading import CORPUS, FIXTURES, Reading, read, usage, visible

FOLDER = FIXTURES / "codex/sessions"
MAIN, FORK, AGENT = (f"019c0000-0000-7000-8000-00000000000{letter}" for letter in "abc")
TOTALS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")

Row = dict[str, Any]


def of_files(*names: str) -> Reading:
    found = [path for name in names for path in sorted(FOLDER.rglob(f"*{name}.jsonl"))]
    return read(codex, *(LogFile(path, path.name) for path in found))


def rows(*values: Row) -> LogFile:
    return made(*values, name="-")


def row(kind: str, **payload: Any) -> Row:
    return {"timestamp": "2026-02-10T08:00:00.000Z", "type": kind, "payload": payload}


def item(role: str, text: str) -> Row:
    return row("response_item", type="message", role=role, content=[{"type": "input_text", "text": text}])


def count(total: tuple[int, ...], last: tuple[int, ...]) -> Row:
    info = {
        "total_token_usage": dict(zip(TOTALS, total, strict=True)),
        "last_token_usage": dict(zip(TOTALS, last, strict=True)),
    }
    return row("event_msg", type="token_count", info=info)


def said() -> Row:
    return row("event_msg", type="user_message", message="x")


# Real session -------------------------------------------------------------------------------------------------------


def test_a_real_session_adds_up_to_its_own_total() -> None:
    reading = of_files("d863511eca56")
    figures = [usage(call) for call in reading.calls]
    assert len(figures) == 19
    assert sum(figure[0] + figure[1] for figure in figures) == 270530  # type: ignore[index, operator, misc]
    assert sum(figure[1] for figure in figures) == 136832  # type: ignore[index, misc]
    assert sum(figure[3] for figure in figures) == 12551  # type: ignore[index, misc]
    assert figures[0] == (141, 5504, None, 810)
    assert [len(call.prompt) for call in reading.calls[:4]] == [3, 7, 11, 15]
    assert visible(reading.calls[1]) == ["1 text", "2 text", "7 thinking", "8 text", "9 tool_use", "10 tool_result"]
    assert reading.calls[1].started_at == datetime(2025, 9, 19, 9, 2, 27, 916000, UTC)
    assert [call.events for call in reading.calls] == [("user_turn",), *[()] * 18]
    assert {(call.model, call.agent, call.project) for call in reading.calls} == {("aide-gpt-5", "main", "project")}


def test_all_of_the_corpus_is_read() -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus is not here")
    reading = read_logs([str(CORPUS / "codex")])
    calls = list(reading.calls())
    assert all(ledger.balanced and not ledger.skipped for ledger in reading.ingest.ledgers)
    assert [Path(refusal.file).name for refusal in reading.ingest.refusals] == [
        "Mai0313__VibeCodingTracker__sessions__codex.expected.json"
    ]
    assert {Path(ledger.file).name.rpartition("__")[2]: ledger.calls for ledger in reading.ingest.ledgers} == {
        "codex.jsonl": 19,
        "large.jsonl": 1,
        "schema_drift.jsonl": 0,
        "small.jsonl": 2,
        "session-alpha.jsonl": 2,
    }
    assert len(calls) == 24
    alone = [call for call in calls if call.evidence is Evidence.USAGE_ONLY]
    assert [usage(call) for call in alone] == [(750, 250, None, 125), (2000, 500, None, 300)]


# Made-up session ----------------------------------------------------------------------------------------------------


def test_each_count_is_written_twice_and_counts_once() -> None:
    reading = of_files("00a")
    assert [usage(call) for call in reading.calls] == [
        (5000, 0, None, 60),
        (88, 4992, None, 12),
        (54, 5056, None, 11),
        (4990, 0, None, 5),
        (2340, 2560, None, 6),
    ]
    assert reading.known["same totals"] == 5
    assert reading.known["token_count without figures"] == 1
    assert [call.place.row for call in reading.calls] == [10, 15, 21, 29, 37]


def test_the_prompt_ends_before_the_answer() -> None:
    calls = of_files("00a").calls
    assert visible(calls[0]) == ["0 system", "1 text", "2 text", "5 text"]
    assert visible(calls[1]) == [*visible(calls[0]), "7 thinking", "8 tool_use", "11 tool_result"]
    assert visible(calls[2]) == [*visible(calls[1]), "13 text", "17 text"]
    assert calls[2].prompt.base is calls[1].prompt


def test_compaction_replaces_the_history() -> None:
    call = of_files("00a").calls[4]
    assert call.events == ("compaction", "user_turn")
    assert visible(call)[0] == "0 system"
    assert [segment.path for segment in call.prompt.segments()[2:]] == [
        "[30].payload.replacement_history[0].content[0].text",
        "[33].payload.content[0].text",
    ]


def test_the_first_context_once_more_is_a_resumed_session() -> None:
    calls = of_files("00a").calls
    assert [call.events for call in calls[:4]] == [("user_turn",), (), ("user_turn",), ("resume", "user_turn")]
    assert [parameter.value for call in calls for parameter in call.parameters] == [
        *('"medium"', '"medium"', '"high"', '"medium"', '"medium"')
    ]


def test_a_fork_counts_only_what_it_did_itself() -> None:
    reading = of_files("00b", "00a")  # the parent is read first wherever it stands
    assert [(call.session, call.place.row) for call in reading.calls[5:]] == [(FORK, 22)]
    fork = reading.calls[5]
    assert usage(fork) == (64, 5056, None, 13)
    assert fork.events == ("resume", "user_turn")
    assert [ledger.known_rows["copied call"] for ledger in reading.ledgers] == [0, 2]
    assert len(of_files("00b").calls) == 3  # without its parent, the calls it replays are counted here


def test_a_sub_agent_belongs_to_the_session_of_its_parent() -> None:
    (call,) = of_files("00c").calls
    assert (call.session, call.agent, call.parent_agent, call.purpose) == (MAIN, AGENT, "main", "review")
    assert (call.model, call.provider) == ("gpt-5.1-codex-mini", "openai")


# Made-up rows -------------------------------------------------------------------------------------------------------


def test_usage_is_the_last_one_not_the_difference() -> None:
    """A sub-agent can start with its parent's totals."""
    reading = read(codex, rows(item("user", "x"), count((9000, 0, 50, 0, 9050), (100, 0, 5, 0, 105))))
    assert [usage(call) for call in reading.calls] == [(100, 0, None, 5)]


def test_output_holds_the_reasoning() -> None:
    reading = read(codex, rows(item("user", "x"), count((1000, 250, 125, 75, 1200), (1000, 250, 125, 75, 1200))))
    assert usage(reading.calls[0]) == (750, 250, None, 125)


def test_zeros_are_no_usage() -> None:
    reading = read(codex, rows(item("user", "x"), count((1, 0, 0, 0, 1), (0, 0, 0, 0, 0))))
    assert reading.calls[0].usage is None
    assert "no_usage" in reading.calls[0].notes


def test_an_answer_behind_its_usage_is_in_the_next_prompt() -> None:
    """Versions up to 0.4x write the items of an answer after its usage."""
    reading = read(
        codex,
        rows(
            item("user", "x"),
            count((10, 0, 1, 0, 11), (10, 0, 1, 0, 11)),
            item("assistant", "y"),
            item("user", "z"),
            count((30, 0, 2, 0, 32), (20, 0, 1, 0, 21)),
        ),
    )
    assert [visible(call) for call in reading.calls] == [["0 text"], ["0 text", "2 text", "3 text"]]


def test_a_rollback_takes_turns_back() -> None:
    reading = read(
        codex,
        rows(
            said(),
            item("user", "one"),
            count((10, 0, 1, 0, 11), (10, 0, 1, 0, 11)),
            item("assistant", "first"),
            said(),
            item("user", "two"),
            count((30, 0, 2, 0, 32), (20, 0, 1, 0, 21)),
            row("event_msg", type="thread_rolled_back", num_turns=1),
            said(),
            item("user", "three"),
            count((60, 0, 3, 0, 63), (30, 0, 1, 0, 31)),
        ),
    )
    assert visible(reading.calls[2]) == ["1 text", "3 text", "9 text"]
    assert reading.calls[2].events == ("rewind", "user_turn")


def test_compaction_of_old_versions_has_the_summary_alone() -> None:
    reading = read(
        codex,
        rows(
            item("user", "x"),
            count((10, 0, 1, 0, 11), (10, 0, 1, 0, 11)),
            row("compacted", message="Summary"),
            item("user", "y"),
            count((30, 0, 2, 0, 32), (20, 0, 1, 0, 21)),
        ),
    )
    assert visible(reading.calls[1]) == ["2 text", "3 text"]
    assert reading.calls[1].events == ("compaction",)


def test_rows_of_wrong_types_are_skipped() -> None:
    reading = read(
        codex,
        rows(
            {"type": ["session_meta"], "payload": {}},
            row("event_msg", type="thread_rolled_back", num_turns="many"),
            {"type": "response_item", "payload": 7},
            row("event_msg", type="token_count", info={"total_token_usage": 1, "last_token_usage": []}),
            item("user", "x"),
            count((10, 0, 1, 0, 11), (10, 0, 1, 0, 11)),
        ),
    )
    assert [usage(call) for call in reading.calls] == [(10, 0, None, 1)]
    assert [skipped for skipped, _ in reading.skips] == [2]


def test_other_rows_are_left_alone() -> None:
    assert codex.sniff(rows(row("session_meta", id="1")))
    assert not codex.sniff(rows({"type": "session_meta"}))
    assert not codex.sniff(rows({"type": "message", "payload": {}}))
