"""Wire logs of Kimi Code CLI: every request with the hashes of its system prompt and tools, and its messages."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from hitledger.logs.fields import first_text, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import after, instant
from hitledger.logs.values import opening
from hitledger.parameters import canonical
from hitledger.providers import provider_of
from hitledger.segments import Layout, hidden
from hitledger.types import Call, Evidence, Parameter, Place, Prompt, Segment, prompt_of
from hitledger.usage import read_usage

FORMAT = "kimi"
MAIN, SUBAGENT = "main", "subagent"
STATE_KEYS = frozenset({"createdAt", "agents", "workDir"})


def sniff(file: LogFile) -> bool:
    """The first row names the wire protocol; or the state of a session."""
    head = mapping(opening(file))
    return (head.get("type") == "metadata" and "protocol_version" in head) or head.keys() >= STATE_KEYS


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order: one for each request, answered or not."""
    layout = Layout(keep_text=False)
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        if mapping(opening(file)).keys() >= STATE_KEYS:
            ledger.count_rows()
            ledger.known("session state")
            continue
        wire = _Wire(file.name, ledger, layout)
        for row in file.rows(ledger):
            yield from wire.take(row.number, mapping(row.data))
        yield from wire.unanswered()


@dataclass(slots=True)
class _Wire:
    file: str
    ledger: FileLedger
    layout: Layout
    agent: str = MAIN
    project: str = ""
    head: tuple[Segment, ...] = ()
    prompt: Prompt = field(default_factory=lambda: Prompt(()))
    events: list[str] = field(default_factory=list)
    asked: Call | None = None  # the request that waits for its answer

    def take(self, number: int, row: Mapping[str, Any]) -> Iterator[Call]:
        """One row; a call once it is known what it used."""
        kind = text(row.get("type"))
        if not kind:
            self.ledger.skip(number, "a row without a type")
        elif kind == "llm.request":
            yield from self.unanswered()
            self.ledger.call()
            self.asked = self._call(number, row)
        elif kind == "context.append_loop_event":
            yield from self._loop_event(number, row, mapping(row.get("event")))
        elif kind == "usage.record" and self.asked is not None and row.get("usageScope") == "session":
            self.ledger.known("same call")
            yield from self._answered(mapping(row.get("usage")), row, {})
        else:
            self._learn(number, kind, row)
            self.ledger.known(kind)

    def unanswered(self) -> Iterator[Call]:
        """The request that nothing was said of any more: it failed, was cancelled, or was sent again."""
        if self.asked is not None:
            yield replace(self.asked, notes=("no_response",))
            self.asked = None

    def _learn(self, number: int, kind: str, row: Mapping[str, Any]) -> None:
        path = f"[{number - 1}]"
        if kind == "config.update":
            self.project = first_text(row.get("cwd"), self.project)
        elif kind == "turn.prompt":
            origin = mapping(row.get("origin"))
            if origin.get("name") == SUBAGENT:
                self.agent = SUBAGENT
            elif origin.get("kind") == "user":
                self.events.append("user_turn")
        elif kind == "context.append_message":
            message = mapping(row.get("message"))
            self._extend(message.get("content"), first_text(message.get("role"), "user"), f"{path}.message.content")
        elif kind == "context.apply_compaction":
            kept = hidden(label=f"{self.file}: user messages kept at row {number}")
            summary = self.layout.blocks(row.get("contextSummary"), "user", f"{path}.contextSummary")
            self.prompt = prompt_of((*self.head, kept, *summary))
            self.events.append("compaction")

    def _loop_event(self, number: int, row: Mapping[str, Any], event: Mapping[str, Any]) -> Iterator[Call]:
        kind, path = text(event.get("type")), f"[{number - 1}].event"
        if kind == "step.end" and self.asked is not None:
            self.ledger.known("same call")
            yield from self._answered(mapping(event.get("usage")), row, event)
            return
        self.ledger.known(first_text(kind, "loop event"))
        if kind == "content.part":
            part = mapping(event.get("part"))
            thought = {"type": "thinking", "thinking": part.get("think")} if part.get("type") == "think" else part
            self._extend([thought], "assistant", f"{path}.part")
        elif kind == "tool.call":
            use = {"id": event.get("toolCallId"), "name": event.get("name"), "input": event.get("args")}
            self._extend([{"type": "tool_use", **use}], "assistant", f"{path}.args")
        elif kind == "tool.result":
            output = mapping(event.get("result")).get("output")
            block = {"type": "tool_result", "tool_use_id": event.get("toolCallId"), "content": output}
            self._extend([block], "tool", f"{path}.result")

    def _extend(self, content: Any, role: str, path: str) -> None:
        self.prompt = self.prompt.extend(self.layout.blocks(content, role, path))

    def _answered(self, logged: Mapping[str, Any], row: Mapping[str, Any], event: Mapping[str, Any]) -> Iterator[Call]:
        if self.asked is None:
            return
        usage, notes = read_usage(logged)
        first = after(self.asked.started_at, event.get("llmFirstTokenLatencyMs"))
        yield replace(
            self.asked,
            id=first_text(event.get("messageId"), self.asked.id),
            usage=usage,
            first_token_at=first,
            ended_at=after(first, event.get("llmStreamDurationMs")) or instant(row.get("time")),  # row: after the tools
            notes=(*notes, *(() if usage else ("usage_missing",))),
        )
        self.asked = None

    def _call(self, number: int, row: Mapping[str, Any]) -> Call:
        self._set_head(row)
        model = text(row.get("model"))
        effort = row.get("thinkingEffort")
        events, self.events = tuple(dict.fromkeys(self.events)), []
        return Call(
            id=f"{self.file}:{number}",
            session=self.file,
            agent=self.agent,
            place=Place(self.file, number),
            provider=provider_of(model, text(row.get("provider"))),
            model=model,
            evidence=Evidence.RECONSTRUCTED,
            prompt=self.prompt,
            started_at=instant(row.get("time")),
            parameters=(Parameter("thinking", "thinkingEffort", canonical(effort)),) if effort is not None else (),
            events=events,
            purpose="compaction" if row.get("kind") == "compaction" else "",
            parent_agent="" if self.agent == MAIN else MAIN,
            project=self.project,
        )

    def _set_head(self, row: Mapping[str, Any]) -> None:
        """System prompt and tools by the hashes that were logged: the same hash is the same text."""
        names = (("tools", row.get("toolsHash")), ("system prompt", row.get("systemPromptHash")))
        head = tuple(hidden(label=f"{FORMAT}: {name} {text(value)}") for name, value in names)
        if [known.digest for known in head] != [known.digest for known in self.head]:
            messages = self.prompt.segments()[len(self.head) :]
            self.head, self.prompt = head, prompt_of((*head, *messages))
