"""Goose: old lines, the database with usage per request, with usage on messages, with neither."""

import json
import sqlite3
from decimal import Decimal
from pathlib import Path

from hitledger.logs import goose
from hitledger.logs.files import LogFile
from hitledger.types import Evidence, Kind
from log_reading import fixture, read, usage

SESSIONS = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL,"
    " created_at TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,"
    " accumulated_cache_read_tokens INTEGER, provider_name TEXT, model_config_json TEXT, parent_session_id TEXT)"
)
MESSAGES = (
    "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,"
    " role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT)"
)
LEDGER = (
    "CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,"
    " created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, output_tokens INTEGER,"
    " total_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL,"
    " is_compaction INTEGER DEFAULT 0)"
)
SAID = [("user", "hi", 1760000000), ("assistant", "hello", 1760000005)]


def database(path: Path, *extra: tuple[str, tuple[object, ...]], metadata: object = None) -> LogFile:
    with sqlite3.connect(path) as connection:
        for statement in (SESSIONS, MESSAGES, LEDGER):
            connection.execute(statement)
        config = json.dumps({"model_name": "claude-sonnet-4-5"})
        row = ("s1", "/work", "2025-10-09", 1300, 30, 1000, "anthropic", config)
        connection.execute(
            "INSERT INTO sessions (id, working_dir, created_at, accumulated_input_tokens, accumulated_output_tokens,"
            " accumulated_cache_read_tokens, provider_name, model_config_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        for role, text, created in SAID:
            content = json.dumps([{"type": "text", "text": text}])
            connection.execute(
                "INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json)"
                " VALUES ('s1', ?, ?, ?, ?)",
                (role, content, created, json.dumps(metadata)),
            )
        for statement, values in extra:
            connection.execute(statement, values)
    connection.close()
    return LogFile(path, path.name)


USED = (
    "INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, cache_read_tokens,"
    " cache_write_tokens, cost, is_compaction) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def test_old_lines() -> None:
    found = read(goose, fixture("goose/sessions/20220415_weather.jsonl"))
    assert len(found.calls) == 2
    kinds = [segment.kind for segment in found.calls[1].prompt.segments()]
    assert kinds == [Kind.HIDDEN, Kind.TEXT, Kind.TEXT, Kind.TOOL_USE, Kind.TOOL_RESULT]
    assert found.calls[0].events == ("user_turn",)
    assert found.calls[1].events == ()


def test_usage_ledger_counts_the_calls(tmp_path: Path) -> None:
    row = ("s1", 1760000005, "claude-sonnet-4-5", 1300, 30, 1000, 250, 0.01, 0)
    compaction = ("s1", 1760000009, "claude-sonnet-4-5", 1400, 90, 0, 0, 0.02, 1)
    file = database(tmp_path / "sessions.db", (USED, row), (USED, compaction))
    assert goose.sniff(file)
    found = read(goose, file)
    assert [usage(call) for call in found.calls] == [(50, 1000, 250, 30), (1400, 0, 0, 90)]  # input holds all of it
    assert [call.purpose for call in found.calls] == ["", "compaction"]
    assert found.calls[0].logged_cost == Decimal("0.01")
    assert found.calls[0].evidence is Evidence.USAGE_ONLY
    assert found.known == {"session": 1, "user message": 1, "assistant message": 1}
    assert "input_tokens 1300, output_tokens 30, cache_read_tokens 1000" in next(iter(found.ledgers[0].notes))


def test_usage_on_messages(tmp_path: Path) -> None:
    logged = {"usage": {"inputTokens": 900, "outputTokens": 12, "cacheReadTokens": 800}}
    call = read(goose, database(tmp_path / "sessions.db", metadata=logged)).calls[0]
    assert usage(call) == (100, 800, None, 12)
    assert call.evidence is Evidence.RECONSTRUCTED
    assert (call.provider, call.model, call.session) == ("anthropic", "claude-sonnet-4-5", "s1")


def test_without_usage_answers_are_the_calls(tmp_path: Path) -> None:
    found = read(goose, database(tmp_path / "sessions.db"))
    assert [call.notes for call in found.calls] == [("start_estimated", "usage_missing")]


def test_message_that_the_model_never_saw(tmp_path: Path) -> None:
    found = read(goose, database(tmp_path / "sessions.db", metadata={"agentVisible": False}))
    assert [segment.kind for segment in found.calls[0].prompt.segments()] == [Kind.HIDDEN]


def test_rows_of_unknown_sessions_are_skipped(tmp_path: Path) -> None:
    lost = "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('gone', 'user', '[]', 1)"
    found = read(goose, database(tmp_path / "sessions.db", (lost, ())))
    assert found.skips == [(1, "a message of a session that is not in the database")]
