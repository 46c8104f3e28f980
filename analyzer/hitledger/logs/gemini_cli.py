"""Chats of Gemini CLI: one JSON document (until 2026), or JSON lines that patch each other by message id."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hitledger.logs.fields import first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.segments import Api, Layout, hidden_head
from hitledger.types import Call, Evidence, Place, Prompt
from hitledger.usage import read_usage

FORMAT = "gemini-cli"
# The names of the log and those of the API that the figures come from.
USAGE_NAMES = {
    "input": "promptTokenCount",
    "cached": "cachedContentTokenCount",
    "output": "candidatesTokenCount",
    "thoughts": "thoughtsTokenCount",
    "tool": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
}


def sniff(file: LogFile) -> bool:
    """A header with a session and a project hash, or the early `history` of parts."""
    head = mapping(opening(file))
    if isinstance(head.get("sessionId"), str) and isinstance(head.get("projectHash"), str):
        return True
    turns = items(head.get("history"))
    return bool(turns) and isinstance(mapping(turns[0]).get("parts"), list) and "meta" in head


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order. A message that is written again (with its tool results) is one call."""
    layout = Layout(keep_text=False)
    seen: set[tuple[str, str]] = set()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        chat = _Chat(file.name, ledger, layout, seen)
        if len(file.head_rows()) > 1:
            for row in file.rows(ledger):
                chat.take(row.number, mapping(row.data))
        else:
            for value in values(file, ledger):
                chat.document(mapping(value.data), value.cut)
        yield from chat.calls()


@dataclass(slots=True)
class _Step:
    """What one row says: a message (its latest text is in `messages`), or that the history was cut or replaced."""

    row: int
    id: str = ""
    counted: bool = False  # a message that is a call
    cut: str = ""
    replaced: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _Chat:
    file: str
    ledger: FileLedger
    layout: Layout
    seen: set[tuple[str, str]]
    id: str = ""
    agent: str = "main"
    messages: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    steps: list[_Step] = field(default_factory=list)
    said: dict[str, _Step] = field(default_factory=dict)  # the step of each message
    events: list[str] = field(default_factory=list)
    latest: datetime | None = None

    def document(self, document: Mapping[str, Any], cut: bool) -> None:
        """A chat written as one document; where the file ends inside it, the last message is not whole."""
        self._header(document)
        messages = items(document.get("messages")) or items(document.get("history"))
        self.ledger.count_rows(len(messages))
        for number, message in enumerate(messages, 1):
            if cut and number == len(messages):
                self.ledger.skip(number, "the file ends inside this message")
            else:
                self.take(number, mapping(message))

    def take(self, number: int, row: Mapping[str, Any]) -> None:
        """One row, one entry in the ledger."""
        update = mapping(row.get("$set"))
        if update:
            if items(update.get("messages")):
                self.steps.append(_Step(number, replaced=items(update["messages"])))
            self.ledger.known("update")
        elif isinstance(row.get("$rewindTo"), str):
            self.steps.append(_Step(number, cut=row["$rewindTo"]))
            self.ledger.known("rewind")
        elif "sessionId" in row:
            self._header(row)
            self.ledger.known("session header")
        elif isinstance(row.get("parts"), list):
            self.ledger.known("message of the early format, without tokens")
        else:
            self._message(number, row)

    def _header(self, header: Mapping[str, Any]) -> None:
        self.id = first_text(header.get("sessionId"), self.id)
        if header.get("kind") == "subagent":
            self.agent = "subagent"

    def _message(self, number: int, row: Mapping[str, Any]) -> None:
        kind, message_id = text(row.get("type")), first_text(row.get("id"), f"row {number}")
        if not kind:
            self.ledger.skip(number, "a message without a type")
            return
        again = message_id in self.messages
        if not again:
            self.said[message_id] = _Step(number, id=message_id)
            self.steps.append(self.said[message_id])
        self.messages[message_id] = {**self.messages.get(message_id, {}), **row}
        self._count(self.said[message_id], kind, again, row)

    def _count(self, step: _Step, kind: str, again: bool, row: Mapping[str, Any]) -> None:
        """A message is a call from the first of its rows that has tokens."""
        if kind != "gemini":
            self.ledger.known(f"{kind} message again" if again else f"{kind} message")
        elif step.counted:
            self.ledger.known("same call")
        elif not mapping(row.get("tokens")):
            self.ledger.known("gemini message without tokens")
        elif (self.id, step.id) in self.seen:
            self.ledger.known("copied from another file")
        else:
            step.counted = True
            self.seen.add((self.id, step.id))
            self.ledger.call()

    def calls(self) -> Iterator[Call]:
        """The calls of the chat, each with what was in the history before it."""
        history: list[tuple[str, Prompt]] = []
        prompt = hidden_head(FORMAT)
        for step in self.steps:
            if step.cut:
                keep = next((index for index, (known, _) in enumerate(history) if known == step.cut), len(history))
                prompt = history[keep][1] if keep < len(history) else prompt
                del history[keep:]
                self.events.append("rewind")
                continue
            if step.replaced:
                prompt, history = hidden_head(FORMAT), []
                for index, message in enumerate(step.replaced):
                    prompt = prompt.extend(self._segments(mapping(message), f"[{step.row - 1}].$set.messages[{index}]"))
                self.events.append("compaction")
                continue
            message = self.messages[step.id]
            history.append((step.id, prompt))
            if step.counted:
                yield self._call(step, message, prompt)
            elif message.get("type") == "user":
                self.events.append("user_turn")
            prompt = prompt.extend(self._segments(message, f"[{step.row - 1}]"))
            self.latest = _last_time(message) or self.latest

    def _call(self, step: _Step, message: Mapping[str, Any], prompt: Prompt) -> Call:
        tokens = mapping(message.get("tokens"))
        usage, notes = read_usage({USAGE_NAMES.get(name, name): value for name, value in tokens.items()})
        events, self.events = tuple(dict.fromkeys(self.events)), []
        ended = instant(message.get("timestamp"))
        return Call(
            id=step.id,
            session=self.id,
            agent=self.agent,
            place=Place(self.file, step.row),
            provider="google",
            model=text(message.get("model")),
            evidence=Evidence.RECONSTRUCTED,
            prompt=prompt,
            api=Api.GENERATE_CONTENT,
            started_at=self.latest or ended,
            ended_at=ended,
            usage=usage,
            events=events,
            notes=("start_estimated", *notes, *(() if usage else ("usage_missing",))),
        )

    def _segments(self, message: Mapping[str, Any], path: str) -> Any:
        """What a message adds to the history: its text, then the calls and the answers of its tools."""
        if message.get("type") not in ("user", "gemini"):
            return ()
        role = "user" if message["type"] == "user" else "model"
        found = self.layout.blocks(message.get("content") or None, role, f"{path}.content")
        calls = [_tool_call(call) for call in items(message.get("toolCalls"))]
        answers = [answer for call in items(message.get("toolCalls")) for answer in items(mapping(call).get("result"))]
        found += self.layout.blocks(calls, role, f"{path}.toolCalls")
        return found + self.layout.blocks(
            [{"type": "tool_result", "content": answer} for answer in answers], "user", f"{path}.toolCalls.result"
        )


def _tool_call(call: Any) -> dict[str, Any]:
    call = mapping(call)
    return {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}


def _last_time(message: Mapping[str, Any]) -> datetime | None:
    """When the last thing of a message was done: the next request starts no earlier."""
    times = [instant(message.get("timestamp"))]
    times += [instant(mapping(call).get("timestamp")) for call in items(message.get("toolCalls"))]
    return max((moment for moment in times if moment is not None), default=None)
