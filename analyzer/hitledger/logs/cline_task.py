"""The files of one task of Cline, Roo Code or Kilo Code: what each is, told by content, and which belong together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hitledger.logs.fields import items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.values import opening, values

SCREEN = "ui_messages"
HISTORY = "api_conversation_history"
METADATA = "task_metadata"
TASK_KEYS = frozenset({"taskId", "parentTaskId", "messageCount", "actionCount", "model_usage", "files_in_context"})
TASK_TIMES = frozenset({"createdAt", "startTime", "lastActivity", "last_modified_date", "model_usage"})
PLAIN_SCREEN_KEYS = {"id", "type", "content", "timestamp"}


def role_of(value: Any) -> str:
    """Which file of a task a document is, "" for none."""
    if isinstance(value, dict):
        known = value.keys() & TASK_KEYS
        return METADATA if known and value.keys() & TASK_TIMES and "messages" not in value else ""
    rows = [row for row in items(value) if isinstance(row, dict)]
    if not rows:
        return ""
    if any(row.get("type") in ("say", "ask") and isinstance(row.get("ts"), int) for row in rows):
        return SCREEN
    if all(set(row) >= PLAIN_SCREEN_KEYS and row["type"] in ("user", "assistant") for row in rows[:-1] or rows):
        return SCREEN
    roles = {text(row["role"]) for row in rows if "role" in row}
    in_turn = roles and roles <= {"user", "assistant"} and rows[0].get("role") == "user"
    return HISTORY if in_turn and isinstance(rows[0].get("content"), list) else ""


@dataclass(slots=True)
class Part:
    """One file of a task. Row numbers count its records from 1."""

    file: LogFile
    ledger: FileLedger
    rows: list[Mapping[str, Any]]


@dataclass(slots=True)
class Task:
    """What there is of one task; any file can be missing."""

    id: str
    parts: dict[str, Part] = field(default_factory=dict)

    def metadata(self) -> Mapping[str, Any]:
        """The task's metadata, empty where there are none."""
        part = self.parts.get(METADATA)
        return part.rows[0] if part and part.rows else {}


def sniff_task(file: LogFile) -> bool:
    """Whether a file is one of a task's."""
    return bool(role_of(opening(file)))


def load_tasks(files: tuple[LogFile, ...], ingest: Ingest, format_name: str) -> tuple[Task, ...]:
    """Files grouped by task: those that lie in one folder, or whose names differ only in the file's role."""
    tasks: dict[str, Task] = {}
    for file in files:
        ledger = ingest.open(file.name, format_name)
        rows, role = _records(file, ledger)
        stem = _stem(file.name, role)
        task = tasks.setdefault(stem, Task(stem.rstrip("/").rpartition("/")[2].rstrip("_") or stem))
        if role in task.parts:  # two files of one role without a task's folder: each is a task of its own
            task = tasks.setdefault(file.name, Task(file.name))
        task.parts[role] = Part(file, ledger, rows)
    return tuple(tasks.values())


def _records(file: LogFile, ledger: FileLedger) -> tuple[list[Mapping[str, Any]], str]:
    """The file's records, each counted, and its role. The last record of a file that was cut is skipped."""
    for value in values(file, ledger):
        role = role_of(value.data)
        found = value.data if isinstance(value.data, list) else [value.data]
        ledger.count_rows(len(found))
        if value.cut and found:
            ledger.skip(len(found), "the file ends inside this record")
            found = found[:-1]
        return [mapping(row) for row in found], role
    return [], ""


def _stem(name: str, role: str) -> str:
    """The part of a file's name that all files of its task share; the whole name where it does not say its role."""
    folder, slash, base = name.rpartition("/")
    before, found, _ = base.partition(role) if role else (base, "", "")
    return folder + slash + before if found else name
