"""What opencode stores, wherever it stores it: sessions, messages and parts from files, an export, events or SQLite."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hitledger.logs.fields import first_text, items, mapping, parsed, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.sqlite import damage_skipped, database, is_database, table_rows
from hitledger.logs.values import values

SESSION, MESSAGE, PART = "session", "message", "part"


@dataclass(frozen=True, slots=True)
class Record:
    """One stored object and where it stands."""

    data: Mapping[str, Any]
    file: str
    row: int
    ledger: FileLedger


@dataclass(slots=True)
class Store:
    """All objects by id. An object that comes again (an update, an event) replaces the earlier one."""

    sessions: dict[str, Record] = field(default_factory=dict)
    messages: dict[str, Record] = field(default_factory=dict)
    parts: dict[str, dict[str, Record]] = field(default_factory=dict)  # by message id, then by part id

    def put(self, record: Record, parent: str = "") -> None:
        """Keep a record; what it is, is told by its fields. `parent` names the message that its place says it is of."""
        kind = kind_of(record.data)
        own = text(record.data.get("id"))
        if kind == PART:
            group = self.parts.setdefault(first_text(record.data.get("messageID"), parent), {})
        elif kind:
            group = self.sessions if kind == SESSION else self.messages
        else:
            record.ledger.skip(record.row, "neither a session nor a message nor a part of one")
            return
        if own in group:
            group[own].ledger.known("updated later")
        group[own] = record


def kind_of(data: Mapping[str, Any]) -> str:
    """Session, message or part; "" for anything else."""
    if not isinstance(data.get("id"), str):
        return ""
    if isinstance(data.get("sessionID"), str) and isinstance(data.get("role"), str):
        return MESSAGE
    if isinstance(data.get("type"), str) and (isinstance(data.get("messageID"), str) or _starts(data)):
        return PART
    if isinstance(data.get("projectID"), str) and isinstance(data.get("time"), dict):
        return SESSION
    return ""


def _starts(data: Mapping[str, Any]) -> bool:
    """Early parts carry no message id; they lie in a folder of its name."""
    return "start" in mapping(data.get("time")) and isinstance(data.get("text"), str)


def is_export(data: Mapping[str, Any]) -> bool:
    """`opencode export`: {info, messages: [{info, parts}]}."""
    return kind_of(mapping(data.get("info"))) == SESSION and isinstance(data.get("messages"), list)


def is_event(data: Mapping[str, Any]) -> bool:
    """An event of a plugin, or a line of `opencode run --format json`."""
    if isinstance(data.get("event_type"), str) and "opencode_version" in mapping(data.get("context")):
        return True
    return isinstance(data.get("sessionID"), str) and kind_of(mapping(data.get("part"))) == PART


def load(files: tuple[LogFile, ...], ingest: Ingest, format_name: str) -> Store:
    """Everything of all files. Objects refer to each other across files, so nothing is a call before all are read."""
    store = Store()
    for file in files:
        ledger = ingest.open(file.name, format_name)
        if is_database(file):
            _load_database(file, ledger, store)
        else:
            _load_json(file, ledger, store)
    return store


def _load_json(file: LogFile, ledger: FileLedger, store: Store) -> None:
    for value in values(file, ledger):
        data = mapping(value.data)
        if is_export(data):
            _load_export(file, value.number, data, value.cut, ledger, store)
            continue
        ledger.count_rows()
        if value.cut:
            ledger.skip(value.number, "the file ends inside this object")
            continue
        event = is_event(data)
        payload = mapping(data.get("payload")) or data
        inner = mapping(payload.get("info")) or mapping(payload.get("part")) if event else data
        if event and not kind_of(inner):
            ledger.known(first_text(data.get("event_type"), "event"))
        else:
            store.put(Record(inner, file.name, value.number, ledger), file.path.parent.name if file.path else "")


def _load_export(file: LogFile, row: int, data: Mapping[str, Any], cut: bool, ledger: FileLedger, store: Store) -> None:
    """An export's records count from 1 in the order they stand: the session, then each message before its parts."""
    messages = items(data.get("messages"))
    records: list[Any] = [data.get("info")]
    for message in messages:
        records += [mapping(message).get("info"), *items(mapping(message).get("parts"))]
    for number, record in enumerate(records, row):
        ledger.count_rows()
        if cut and number - row == len(records) - 1:
            ledger.skip(number, "the file ends inside this object")
        else:
            store.put(Record(mapping(record), file.name, number, ledger))


_TABLES: tuple[tuple[str, tuple[str, ...], Mapping[str, str]], ...] = (
    ("session", ("time_created", "id"), {"parent_id": "parentID", "project_id": "projectID"}),
    ("message", ("session_id", "time_created", "id"), {"session_id": "sessionID"}),
    ("part", ("session_id", "message_id", "id"), {"session_id": "sessionID", "message_id": "messageID"}),
)


def _load_database(file: LogFile, ledger: FileLedger, store: Store) -> None:
    with damage_skipped(file, ledger), database(file) as connection:
        for table, order, names in _TABLES:
            for number, row in table_rows(connection, table, order, ledger):
                store.put(Record(_as_object(row, names), file.name, number, ledger))


def _as_object(row: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    """A table row as the object that the files hold: its JSON column with the keys of the other columns."""
    data = dict(mapping(parsed(row.get("data"))))
    columns: Iterable[str] = ("id", "directory", *names)
    data |= {names.get(name, name): row[name] for name in columns if row.get(name) is not None}
    if "time_created" in row:
        data.setdefault("time", {"created": row["time_created"]})
    return data
