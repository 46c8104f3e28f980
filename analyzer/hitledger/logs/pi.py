"""Sessions of pi, and of openclaw, which keeps pi's format: a tree of entries, one JSON line each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hitledger.logs.fields import dollars, first_text, items, mapping, text
from hitledger.logs.files import LogFile, Row
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.parameters import canonical
from hitledger.providers import provider_of
from hitledger.segments import Layout, hidden_head
from hitledger.types import Call, Evidence, Parameter, Place, Prompt, Segment
from hitledger.usage import nothing_counted, read_usage

FORMAT = "pi"
API_OF = {
    "anthropic-messages": "messages",
    "openai-completions": "chat",
    "openai-responses": "responses",
    "openai-codex-responses": "responses",
    "azure-openai-responses": "responses",
    "google-generative-ai": "generate-content",
    "bedrock-converse-stream": "converse",
}
UNFINISHED = frozenset({"aborted", "error"})  # pi leaves these messages out of what it sends next
MESSAGE_ENTRIES = {"custom_message": "content", "branch_summary": "summary"}  # entries that are sent as user messages


def sniff(file: LogFile) -> bool:
    """The first row is the session header."""
    rows = file.head_rows()
    head = mapping(rows[0]) if rows else {}
    return head.get("type") == "session" and isinstance(head.get("id"), str) and "cwd" in head


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order. Entries that a forked session copied from another file count once."""
    seen: set[tuple[str, ...]] = set()
    layout = Layout(keep_text=False)
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        session = _Session(file.name, ledger, layout, seen)
        for row in file.rows(ledger):
            call = session.take(row)
            if call is not None:
                yield call


@dataclass(slots=True)
class _Entry:
    """A place in the tree: what would be sent if the conversation went on from here. `own` is its message alone."""

    prompt: Prompt
    parent: "_Entry | None"
    own: tuple[Segment, ...] = ()
    id: str = ""


@dataclass(slots=True)
class _Session:
    file: str
    ledger: FileLedger
    layout: Layout
    seen: set[tuple[str, ...]]
    id: str = ""
    project: str = ""
    provider: str = ""
    model: str = ""
    thinking: str = ""
    events: list[str] = field(default_factory=list)
    entries: dict[str, _Entry] = field(default_factory=dict)
    last: _Entry = field(default_factory=lambda: _Entry(hidden_head(FORMAT), None))

    def take(self, row: Row) -> Call | None:
        """One row; the call that it ends, if it ends one."""
        data = mapping(row.data)
        kind = text(data.get("type"))
        at = self._parent(data)
        if kind == "message":
            return self._message(row, data, at)
        if kind == "compaction":
            self._enter(data, self._compacted(row, data, at))
            self.events.append("compaction")
        elif kind in MESSAGE_ENTRIES:
            self._append(row, data, at, data.get(MESSAGE_ENTRIES[kind]), MESSAGE_ENTRIES[kind])
        elif kind:
            self._settings(kind, data)
            self._enter(data, _Entry(at.prompt, at))
        else:
            self.ledger.skip(row.number, "an entry without a type")
            return None
        self.ledger.known(kind)
        return None

    def _parent(self, data: Mapping[str, Any]) -> _Entry:
        found = self.entries.get(text(data.get("parentId")))
        if found is None:  # the first versions wrote no ids: entries follow each other
            return self.last
        if found is not self.last:
            self.events.append("rewind")
        return found

    def _settings(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "session":
            self.id = text(data.get("id"))
            self.project = text(data.get("cwd"))
        self.provider = first_text(data.get("provider"), self.provider)
        self.model = first_text(data.get("modelId"), self.model)
        self.thinking = first_text(data.get("thinkingLevel"), self.thinking)

    def _message(self, row: Row, data: Mapping[str, Any], at: _Entry) -> Call | None:
        message = mapping(data.get("message"))
        role = text(message.get("role"))
        if role == "assistant":
            return self._assistant(row, data, message, at)
        if not role:
            self.ledger.skip(row.number, "a message without a role")
            return None
        if role == "user":
            self.events.append("user_turn")
        self._append(row, data, at, _sent(role, message), "message.content")
        self.ledger.known(f"{role} message")
        return None

    def _assistant(self, row: Row, data: Mapping[str, Any], message: Mapping[str, Any], at: _Entry) -> Call | None:
        unfinished = text(message.get("stopReason")) in UNFINISHED
        call = self._call(row, data, message, at, unfinished)
        content = [] if unfinished else items(message.get("content"))
        blocks = self.layout.blocks([_block(block) for block in content], "assistant", _path(row, "message.content"))
        self._enter(data, _Entry(at.prompt.extend(blocks), at, blocks))
        return call

    def _call(
        self, row: Row, data: Mapping[str, Any], message: Mapping[str, Any], at: _Entry, unfinished: bool
    ) -> Call | None:
        logged = mapping(message.get("usage"))
        usage, notes = read_usage(logged, inclusive=False)
        if unfinished and nothing_counted(usage):
            self.ledger.known("aborted before any usage")
            return None
        times = text(data.get("timestamp")), str(message.get("timestamp"))
        key = (text(data.get("id")), *times, text(message.get("model")), str(logged))
        if key in self.seen:
            self.ledger.known("copied from another session")
            return None
        self.seen.add(key)
        self.ledger.call()
        events, self.events = tuple(dict.fromkeys(self.events)), []
        model = first_text(message.get("model"), self.model)
        return Call(
            id=first_text(message.get("responseId"), data.get("id"), f"{self.id}:{row.number}"),
            session=self.id,
            agent="main",
            place=Place(self.file, row.number),
            provider=provider_of(model, first_text(message.get("provider"), self.provider)),
            model=model,
            evidence=Evidence.RECONSTRUCTED,
            prompt=at.prompt,
            api=API_OF.get(text(message.get("api")), ""),
            started_at=instant(message.get("timestamp")) or instant(data.get("timestamp")),
            ended_at=instant(data.get("timestamp")),
            usage=usage,
            parameters=self._parameters(),
            logged_cost=dollars(mapping(logged.get("cost")).get("total")),
            events=events,
            project=self.project,
            notes=(*notes, *(("aborted",) if unfinished else ()), *(() if usage else ("usage_missing",))),
        )

    def _parameters(self) -> tuple[Parameter, ...]:
        return (Parameter("thinking", "thinkingLevel", canonical(self.thinking)),) if self.thinking else ()

    def _append(self, row: Row, data: Mapping[str, Any], at: _Entry, content: Any, path: str) -> None:
        own = self.layout.blocks(content, "user", _path(row, path))
        self._enter(data, _Entry(at.prompt.extend(own), at, own))

    def _enter(self, data: Mapping[str, Any], entry: _Entry) -> None:
        entry.id = text(data.get("id"))
        if entry.id:
            self.entries[entry.id] = entry
        self.last = entry

    def _compacted(self, row: Row, data: Mapping[str, Any], at: _Entry) -> _Entry:
        """The summary, then what was kept: everything from `firstKeptEntryId` on."""
        first = text(data.get("firstKeptEntryId"))
        kept: list[tuple[Segment, ...]] = []
        entry: _Entry | None = at if first in self.entries else None
        while entry is not None:
            kept.append(entry.own)
            entry = None if entry.id == first else entry.parent
        own = self.layout.blocks(data.get("summary"), "user", _path(row, "summary"))
        own += tuple(segment for part in reversed(kept) for segment in part)
        return _Entry(hidden_head(FORMAT).extend(own), at)


def _path(row: Row, path: str) -> str:
    return f"[{row.number - 1}].{path}"


def _sent(role: str, message: Mapping[str, Any]) -> Any:
    """A message that is no answer of the model, as it is sent: tool results and shell output in a user's message."""
    if role == "toolResult":
        answer = {"tool_use_id": message.get("toolCallId"), "content": message.get("content")}
        return [{"type": "tool_result", **answer}]
    if role == "bashExecution":
        if message.get("excludeFromContext"):
            return None
        return f"Ran `{text(message.get('command'))}`\n{text(message.get('output'))}"
    return first_text(message.get("summary")) or message.get("content")


def _block(block: Any) -> Any:
    """A content block in the shape of the Messages API, without what only pi's screen needs."""
    kind = mapping(block).get("type")
    if kind == "toolCall":
        return {"type": "tool_use", "id": block.get("id"), "name": block.get("name"), "input": block.get("arguments")}
    if kind == "thinking":
        return {"type": "thinking", "thinking": block.get("thinking"), "signature": block.get("thinkingSignature")}
    return block
