"""Sessions of Goose: the old JSON lines (no usage per request) and the SQLite `sessions.db` (usage per request in it)."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from hitledger.logs.fields import count, dollars, first_text, items, mapping, parsed, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.sqlite import damage_skipped, database, has_tables, is_database, table_rows
from hitledger.providers import provider_of
from hitledger.segments import Layout, hidden_head
from hitledger.types import Call, Evidence, Place, Prompt, Usage
from hitledger.usage import read_usage

FORMAT = "goose"
COLUMNS = {
    "sessions": frozenset({"id", "working_dir"}),
    "messages": frozenset({"session_id", "role", "content_json", "created_timestamp"}),
}
HEADER_KEYS = frozenset({"accumulated_total_tokens", "message_count", "description"})
TOOL_BLOCKS = frozenset({"toolRequest", "toolResponse", "frontendToolRequest"})
MAIN = "main"
USAGE_COLUMNS = ("input_tokens", "output_tokens", "total_tokens", "cache_read_tokens", "cache_write_tokens")
TOTALS = ("accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cache_read_tokens")


def sniff(file: LogFile) -> bool:
    """The database by its tables; the old lines by their header or by messages that carry `created`."""
    rows = file.head_rows()
    if not rows:
        return has_tables(file, COLUMNS)
    head = mapping(rows[0])
    if len(head.keys() & HEADER_KEYS) > 1 and "working_dir" in head:
        return True
    if not (_is_message(head) or set(head) == {"tools"}):
        return False
    return any(_is_message(mapping(row)) and _has_tool_block(mapping(row)) for row in rows)


def _is_message(row: Mapping[str, Any]) -> bool:
    created = row.get("created")
    return text(row.get("role")) in ("user", "assistant") and isinstance(created, int) and "content" in row


def _has_tool_block(row: Mapping[str, Any]) -> bool:
    return any(text(mapping(block).get("type")) in TOOL_BLOCKS for block in items(row.get("content")))


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order, session by session."""
    layout = Layout(keep_text=False)
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        if is_database(file):
            yield from _read_database(file, ledger, layout)
        else:
            yield from _read_lines(file, ledger, layout)


def _read_lines(file: LogFile, ledger: FileLedger, layout: Layout) -> Iterator[Call]:
    session = _Session(file.name, ledger, layout, file.name)
    for row in file.rows(ledger):
        data = mapping(row.data)
        if _is_message(data):
            call = session.message(row.number, data, f"[{row.number - 1}]")
            if call is not None:
                yield call
        elif "tools" in data or "working_dir" in data:
            session.describe(data)
            ledger.known("session header")
        else:
            ledger.skip(row.number, "neither a header nor a message")


def _read_database(file: LogFile, ledger: FileLedger, layout: Layout) -> Iterator[Call]:
    with damage_skipped(file, ledger), database(file) as connection:
        yield from _read_tables(connection, file.name, ledger, layout)


def _read_tables(connection: sqlite3.Connection, name: str, ledger: FileLedger, layout: Layout) -> Iterator[Call]:
    sessions: dict[str, _Session] = {}
    for _, row in table_rows(connection, "sessions", ("created_at", "id"), ledger):
        session_id = str(row.get("id"))
        sessions[session_id] = _Session(name, ledger, layout, session_id)
        sessions[session_id].describe(row)
        ledger.known("session")
    for number, row in table_rows(connection, "usage_ledger", ("created_timestamp", "id"), ledger):
        owner = sessions.get(str(row.get("session_id")))
        if owner is None:
            ledger.skip(number, "usage of a session that is not in the database")
            continue
        owner.counted_apart = True
        yield owner.usage_row(number, row)
    for number, row in table_rows(connection, "messages", ("session_id", "created_timestamp", "id"), ledger):
        owner = sessions.get(str(row.get("session_id")))
        if owner is None:
            ledger.skip(number, "a message of a session that is not in the database")
            continue
        message = {"role": row.get("role"), "created": row.get("created_timestamp")}
        message |= {"content": parsed(row.get("content_json")), "metadata": parsed(row.get("metadata_json"))}
        call = owner.message(number, message, f"messages[{number - 1}]")
        if call is not None:
            yield call


@dataclass(slots=True)
class _Session:
    """One session: its settings and what would be sent next."""

    file: str
    ledger: FileLedger
    layout: Layout
    id: str
    project: str = ""
    provider: str = ""
    model: str = ""
    parent: str = ""
    counted_apart: bool = False  # `usage_ledger` holds its calls, and does not say which message each answered
    prompt: Prompt = field(default_factory=lambda: hidden_head(FORMAT))
    events: list[str] = field(default_factory=list)
    latest: datetime | None = None

    def describe(self, header: Mapping[str, Any]) -> None:
        """What a header or a row of `sessions` says. Its token counts are totals, no call's."""
        self.project = text(header.get("working_dir"))
        self.provider = text(header.get("provider_name"))
        self.model = text(mapping(parsed(header.get("model_config_json"))).get("model_name"))
        self.parent = text(header.get("parent_session_id"))
        totals = [(key, count(header.get(key))) for key in TOTALS]
        if any(value for _, value in totals):
            said = ", ".join(
                f"{key.removeprefix('accumulated_')} {value}" for key, value in totals if value is not None
            )
            self.ledger.note(f"session total of {self.id[:80]}: {said}")

    def usage_row(self, number: int, row: Mapping[str, Any]) -> Call:
        """A row of `usage_ledger`: one request, without its text."""
        usage, notes = read_usage({key: row.get(key) for key in USAGE_COLUMNS}, inclusive=True)
        self.ledger.call()
        call = self._call(f"{self.id}:usage:{number}", number, instant(row.get("created_timestamp")), usage, notes)
        return replace(
            call,
            model=first_text(row.get("model"), self.model),
            evidence=Evidence.USAGE_ONLY,
            prompt=Prompt(()),
            logged_cost=dollars(row.get("cost")),
            purpose="compaction" if row.get("is_compaction") else "",
        )

    def message(self, number: int, message: Mapping[str, Any], path: str) -> Call | None:
        """One message; the call whose answer it is, if it is one."""
        role = text(message.get("role"))
        if role not in ("user", "assistant") or not isinstance(message.get("content"), list):
            self.ledger.skip(number, "a message without role or content")
            return None
        call = None
        if role == "assistant" and not self.counted_apart:
            call = self._answered(number, message)
        else:
            self.ledger.known(f"{role} message")
        if role == "user" and not _has_tool_block(message):
            self.events.append("user_turn")
        if mapping(message.get("metadata")).get("agentVisible") is not False:
            blocks = [_block(block) for block in message["content"]]
            self.prompt = self.prompt.extend(self.layout.blocks(blocks, role, f"{path}.content"))
        self.latest = instant(message.get("created")) or self.latest
        return call

    def _answered(self, number: int, message: Mapping[str, Any]) -> Call:
        logged = mapping(mapping(message.get("metadata")).get("usage"))
        usage, notes = read_usage(logged, inclusive=True)
        self.ledger.call()
        if usage is None:
            notes += ("usage_missing",)
        call = self._call(f"{self.id}:{number}", number, instant(message.get("created")), usage, notes)
        return replace(call, logged_cost=dollars(logged.get("cost")))

    def _call(
        self, name: str, number: int, ended: datetime | None, usage: Usage | None, notes: tuple[str, ...]
    ) -> Call:
        events, self.events = tuple(dict.fromkeys(self.events)), []
        return Call(
            id=name,
            session=self.parent or self.id,
            agent=self.id if self.parent else MAIN,
            place=Place(self.file, number),
            provider=provider_of(self.model, self.provider),
            model=self.model,
            evidence=Evidence.RECONSTRUCTED,
            prompt=self.prompt,
            started_at=self.latest or ended,
            ended_at=ended,
            usage=usage,
            events=events,
            parent_agent=MAIN if self.parent else "",
            project=self.project,
            notes=("start_estimated", *notes),
        )


def _block(block: Any) -> Any:
    """A content block in the shape of the Messages API."""
    block = mapping(block)
    kind = block.get("type")
    if kind in ("toolRequest", "frontendToolRequest"):
        used = mapping(mapping(block.get("toolCall")).get("value"))
        arguments = {"name": used.get("name"), "input": used.get("arguments")}
        return {"type": "tool_use", "id": block.get("id"), **arguments}
    if kind == "toolResponse":
        answer = mapping(block.get("toolResult"))
        content = answer.get("value") if answer.get("status") == "success" else answer.get("error")
        return {"type": "tool_result", "tool_use_id": block.get("id"), "content": content}
    return block
