"""Sessions of opencode: each finished step of an assistant message is one request."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import chain
from typing import Any

from hitledger.logs.fields import count, dollars, first_text, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.instants import instant
from hitledger.logs.opencode_store import Record, Store, is_event, is_export, kind_of, load
from hitledger.logs.sqlite import has_tables
from hitledger.logs.values import opening
from hitledger.parameters import canonical
from hitledger.providers import provider_of
from hitledger.segments import Layout, hidden_head
from hitledger.types import Call, Evidence, Parameter, Place, Prompt, Segment
from hitledger.usage import nothing_counted, read_usage

FORMAT = "opencode"
MAIN = "main"
STEP = "step-finish"  # the part that ends a step: its usage
PRUNED = "[Old tool result content cleared]"  # what opencode sends in place of a pruned result
COLUMNS = {"message": frozenset({"id", "session_id", "data"}), "part": frozenset({"id", "message_id", "data"})}
EPOCH = datetime.fromtimestamp(0, UTC)


def sniff(file: LogFile) -> bool:
    """A session, message or part of its file storage, an export, an event, or its database."""
    head = opening(file)
    if head is None:
        return has_tables(file, COLUMNS)
    head = mapping(head)
    return bool(kind_of(head)) or is_export(head) or is_event(head)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls by session in the order the sessions were first seen, then by time."""
    store = load(files, ingest, FORMAT)
    layout = Layout(keep_text=False)
    by_session: dict[str, list[Record]] = {session: [] for session in store.sessions}
    for record in store.messages.values():
        by_session.setdefault(text(record.data.get("sessionID")), []).append(record)
    for message_id, parts in store.parts.items():
        if message_id not in store.messages:
            _without_message(message_id, parts, by_session)
    for record in store.sessions.values():
        record.ledger.known("session")
    for session_id, messages in by_session.items():
        yield from _Session(session_id, store, layout).calls(sorted(messages, key=_order))


def _order(record: Record) -> tuple[datetime, str]:
    return instant(mapping(record.data.get("time")).get("created")) or EPOCH, text(record.data.get("id"))


def _without_message(message_id: str, parts: Mapping[str, Record], by_session: dict[str, list[Record]]) -> None:
    """Parts alone (`run --format json`, a lost file): steps still count, under an assistant message without a model."""
    first = next(iter(parts.values()))
    session = text(first.data.get("sessionID"))
    if message_id and session:
        time = {"created": mapping(first.data.get("time")).get("start")}
        stand_in = {"id": message_id, "sessionID": session, "role": "assistant", "time": time, "stand_in": True}
        by_session.setdefault(session, []).append(Record(stand_in, first.file, first.row, first.ledger))
        return
    for part in parts.values():
        part.ledger.known("part of no message")


Prune = tuple[datetime, int, str, Record]  # when, where in the history, role and part


@dataclass(slots=True)
class _Session:
    id: str
    store: Store
    layout: Layout
    root: str = ""
    agent: str = MAIN
    parent_agent: str = ""
    project: str = ""
    prompt: Prompt = field(default_factory=lambda: hidden_head(FORMAT))
    history: list[tuple[Segment, ...]] = field(default_factory=list)  # of each part since the last compaction
    prunes: list[Prune] = field(default_factory=list)  # a heap: tool results that are cleared, not yet applied
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        ancestry = [self.id]
        while (parent := self._parent_of(ancestry[-1])) and parent not in ancestry:
            ancestry.append(parent)
        self.root = ancestry[-1]
        if len(ancestry) > 1:
            self.agent = self.id
            self.parent_agent = MAIN if ancestry[1] == self.root else ancestry[1]
        record = self.store.sessions.get(self.id)
        self.project = text(record.data.get("directory")) if record else ""

    def _parent_of(self, session: str) -> str:
        record = self.store.sessions.get(session)
        return text(record.data.get("parentID")) if record else ""

    def calls(self, messages: list[Record]) -> Iterator[Call]:
        """The session's calls; every message and part gets its entry in its file's ledger."""
        for message in messages:
            stored = self.store.parts.get(text(message.data.get("id")), {})
            parts = [stored[key] for key in sorted(stored)]
            if message.data.get("role") == "assistant":
                yield from self._answer(message, parts)
                continue
            message.ledger.known(f"{text(message.data['role'])} message")
            self.events.append("user_turn")
            for part in parts:
                part.ledger.known(f"{text(part.data.get('type'))} part")
                if part.data.get("type") == "compaction":
                    self.events.append("compaction")
                self._append("user", part)

    def _answer(self, message: Record, parts: list[Record]) -> Iterator[Call]:
        started = instant(mapping(message.data.get("time")).get("created"))
        counted = any(part.data.get("type") == STEP for part in parts)
        summary = message.data.get("summary") is True
        if not counted and "stand_in" not in message.data:
            yield from self._call(message, message, started, summary)
        elif "stand_in" not in message.data:
            message.ledger.known("message of counted steps")
        pending: list[Record] = []
        for part in parts:
            if part.data.get("type") == STEP:
                yield from self._call(message, part, started, summary)
                started = _last_end(pending) or started
                self._append_all(pending)
                pending = []
            else:
                part.ledger.known(f"{text(part.data.get('type'))} part")
                pending.append(part)
        self._append_all(pending)
        if summary:
            self._compacted(parts)

    def _call(self, message: Record, source: Record, started: datetime | None, summary: bool) -> Iterator[Call]:
        """The call that a step, or a message without steps, reports."""
        usage, notes = read_usage(mapping(source.data.get("tokens")), inclusive=False)
        error = mapping(message.data.get("error")) if source is message else {}
        status = count(mapping(error.get("data")).get("statusCode")) or 200
        if nothing_counted(usage):
            usage = None
            if error and status < 400:
                source.ledger.known("aborted before any usage")
                return
        source.ledger.call()
        self._prune(started)
        model, provider = _model(message.data)
        events, self.events = tuple(dict.fromkeys(self.events)), []
        if status < 400 and usage is None:
            notes += ("usage_missing",)
        yield Call(
            id=text(source.data.get("id")),
            session=self.root,
            agent=self.agent,
            place=Place(source.file, source.row),
            provider=provider_of(model, provider),
            model=model,
            evidence=Evidence.RECONSTRUCTED,
            prompt=self.prompt,
            started_at=started,
            ended_at=instant(mapping(message.data.get("time")).get("completed")) if source is message else None,
            status=status,
            usage=usage,
            parameters=_parameters(message.data),
            logged_cost=_cost(source.data),
            events=events,
            purpose="compaction" if summary else "",
            parent_agent=self.parent_agent,
            project=self.project,
            notes=notes if not error or status >= 400 else (*notes, "aborted"),
        )

    def _append_all(self, parts: list[Record]) -> None:
        for part in parts:
            self._append("assistant", part)

    def _append(self, role: str, part: Record) -> None:
        cleared = _cleared_at(part.data)
        if cleared is not None:
            heappush(self.prunes, (cleared, len(self.history), role, part))
        self.history.append(self._segments(role, part, None))
        self.prompt = self.prompt.extend(self.history[-1])

    def _prune(self, now: datetime | None) -> None:
        """Where tool results were cleared by now, lay the prompt out again without them."""
        if now is None or not self.prunes or self.prunes[0][0] > now:
            return
        while self.prunes and self.prunes[0][0] <= now:
            _, place, role, part = heappop(self.prunes)
            self.history[place] = self._segments(role, part, now)
        self.prompt = hidden_head(FORMAT).extend(tuple(chain.from_iterable(self.history)))

    def _compacted(self, parts: list[Record]) -> None:
        """After a summary the conversation goes on from it alone."""
        self.history, self.prunes, self.prompt = [], [], hidden_head(FORMAT)
        self._append_all(parts)
        self.events.append("compaction")

    def _segments(self, role: str, part: Record, now: datetime | None) -> tuple[Segment, ...]:
        """What a part puts into the prompt at `now` (None: as it was when written)."""
        data, path = part.data, f"[{part.row - 1}]"
        kind = data.get("type")
        if kind == "text" and not data.get("ignored"):
            return self.layout.blocks(text(data.get("text")), role, f"{path}.text")
        if kind == "reasoning":
            return self.layout.blocks([{"type": "thinking", "thinking": data.get("text")}], role, path)
        if kind == "file":
            named = {"type": "file", "name": data.get("filename"), "mime": data.get("mime"), "url": data.get("url")}
            return self.layout.blocks([named], role, path)
        if kind != "tool":
            return ()
        state = mapping(data.get("state"))
        use = {"type": "tool_use", "id": data.get("callID"), "name": data.get("tool"), "input": state.get("input")}
        cleared = _cleared_at(data)
        output = state.get("output") or state.get("error")
        if now is not None and cleared is not None and cleared <= now:
            output = PRUNED
        result = {"type": "tool_result", "tool_use_id": data.get("callID"), "content": output}
        found = self.layout.blocks([use], role, f"{path}.state.input")
        return found + self.layout.blocks([result], "tool", f"{path}.state.output")


def _cleared_at(data: Mapping[str, Any]) -> datetime | None:
    return instant(mapping(mapping(data.get("state")).get("time")).get("compacted"))


def _last_end(parts: list[Record]) -> datetime | None:
    """When the last tool of a step was done: the next step starts no earlier."""
    ends = [instant(mapping(mapping(part.data.get("state")).get("time")).get("end")) for part in parts]
    return max((end for end in ends if end is not None), default=None)


def _model(message: Mapping[str, Any]) -> tuple[str, str]:
    """Model and provider as the message names them; early versions and newest ones nest them."""
    nested = mapping(message.get("model"))
    model = first_text(message.get("modelID"), nested.get("modelID"))
    return model, first_text(message.get("providerID"), nested.get("providerID"))


def _parameters(message: Mapping[str, Any]) -> tuple[Parameter, ...]:
    variant = message.get("variant")
    return (Parameter("effort", "variant", canonical(variant)),) if isinstance(variant, str) else ()


def _cost(data: Mapping[str, Any]) -> Any:
    cost = data.get("cost")
    return dollars(mapping(cost).get("usd") if isinstance(cost, dict) else cost)
