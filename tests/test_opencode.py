"""opencode: steps, pruned results, compaction, sub-agents; the same store in files, an export, events and SQLite."""

import json
import sqlite3
from decimal import Decimal
from pathlib import Path

from hitledger.logs import opencode
from hitledger.logs.files import LogFile
from hitledger.types import Call, Kind
from log_reading import FIXTURES, Reading, fixture, read, usage, written

STORAGE = FIXTURES / "opencode/storage"


def storage() -> tuple[LogFile, ...]:
    return tuple(LogFile(path, str(path.relative_to(STORAGE))) for path in sorted(STORAGE.rglob("*.json")))


def stored() -> Reading:
    return read(opencode, *storage())


def main_calls() -> list[Call]:
    return [call for call in stored().calls if call.agent == "main"]


def database(path: Path) -> LogFile:
    """The fixture's storage as the tables that opencode keeps since it moved to SQLite."""
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text,"
            " time_created integer);"
            "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);"
            "CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);"
            "CREATE VIEW trap AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;"
        )
        for file in storage():
            data = file.document()
            if "role" in data:
                row = (data["id"], data["sessionID"], data["time"]["created"], json.dumps(data))
                connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
            elif "messageID" in data:
                row = (data["id"], data["messageID"], data["sessionID"], json.dumps(data))
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
            else:
                row = (data["id"], data["projectID"], data["parentID"], data["directory"], data["time"]["created"])
                connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?)", row)
    connection.close()
    return LogFile(path, path.name)


def test_each_step_is_a_request() -> None:
    found, main = stored(), main_calls()
    assert [(call.id, usage(call), call.status) for call in main] == [
        ("prt_0203", (10, 0, 12000, 40), 200),
        ("prt_0206", (20, 12000, 900, 60), 200),
        ("msg_04", (30, 0, 9000, 20), 200),
        ("msg_06", (40, 9000, 100, 200), 200),
        ("msg_08", None, 529),
    ]
    assert [call.logged_cost for call in main[:2]] == [Decimal("0.05"), Decimal("0.07")]
    assert found.known["message of counted steps"] == 1  # its figures are those of its last step
    assert found.known["aborted before any usage"] == 1


def test_pruned_result_is_gone_from_later_prompts() -> None:
    _, second, third = main_calls()[:3]
    before = next(segment for segment in second.prompt.segments() if segment.kind is Kind.TOOL_RESULT)
    after = next(segment for segment in third.prompt.segments() if segment.kind is Kind.TOOL_RESULT)
    assert before.digest != after.digest
    assert after.chars > before.chars  # the placeholder is longer than this result
    assert [s.kind for s in third.prompt.segments()][:4] == [Kind.HIDDEN, Kind.TEXT, Kind.TOOL_USE, Kind.TOOL_RESULT]


def test_compaction_is_a_call_and_starts_a_new_prompt() -> None:
    summary, later = main_calls()[3:]
    assert (summary.purpose, summary.events) == ("compaction", ("user_turn", "compaction"))
    assert [segment.chars for segment in later.prompt.segments()[1:]] == [
        len("The files were listed; the long one is long."),
        len("Go on."),
    ]


def test_child_session_is_a_sub_agent() -> None:
    child = next(call for call in stored().calls if call.agent != "main")
    assert (child.session, child.agent, child.parent_agent) == ("ses_main01", "ses_child01", "main")


def test_export() -> None:
    found = read(opencode, fixture("opencode/export.json"))
    assert [usage(call) for call in found.calls] == [(20923, 467, 0, 35)]
    assert (found.calls[0].place.row, found.ledgers[0].rows) == (4, 5)


def test_printed_run_has_no_model() -> None:
    found = read(opencode, fixture("opencode/run.jsonl"))
    assert [(usage(call), call.model, call.session) for call in found.calls] == [((100, 50, 0, 5), "", "ses_run")]


def test_database_gives_the_same_calls(tmp_path: Path) -> None:
    file = database(tmp_path / "opencode.db")
    assert opencode.sniff(file)
    found = read(opencode, file)
    as_files = {call.id: call for call in stored().calls}
    assert {call.id for call in found.calls} == as_files.keys()
    for call in found.calls:
        other = as_files[call.id]
        assert (call.usage, call.started_at, call.events) == (other.usage, other.started_at, other.events)
        assert [s.digest for s in call.prompt.segments()] == [s.digest for s in other.prompt.segments()]


def test_database_is_not_written(tmp_path: Path) -> None:
    file = database(tmp_path / "opencode.db")
    before = (tmp_path / "opencode.db").read_bytes()
    (tmp_path / "opencode.db-wal").write_bytes(b"x")
    found = read(opencode, file)
    assert (tmp_path / "opencode.db").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["opencode.db", "opencode.db-wal"]
    assert dict(found.ledgers[0].notes) == {
        "a write-ahead log lies beside the database: its newest rows are not read": 1
    }


def test_database_on_standard_input(tmp_path: Path) -> None:
    content = (database(tmp_path / "opencode.db").path or tmp_path).read_bytes()
    file = LogFile(None, "-", content)
    assert opencode.sniff(file)
    assert len(read(opencode, file).calls) == len(stored().calls)


def test_damaged_database(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    content = (database(path).path or path).read_bytes()
    path.write_bytes(content[: len(content) // 2])
    found = read(opencode, LogFile(path, path.name))
    assert found.skips


def test_sessions_that_name_each_other_as_parent(tmp_path: Path) -> None:
    rows = [
        {"id": one, "projectID": "p", "parentID": other, "time": {"created": 1}, "directory": "/work"}
        for one, other in (("a", "b"), ("b", "a"))
    ]
    rows.append({"id": "m", "sessionID": "a", "role": "assistant", "time": {"created": 1}, "tokens": {"input": 1}})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    calls = read(opencode, written(tmp_path, "loop.jsonl", text)).calls
    assert [(call.session, call.agent) for call in calls] == [("b", "a")]
