"""Sessions of the Cline SDK (`*.messages.json`): messages with metrics, and the system prompt."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hitledger.logs.fields import dollars, first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.providers import provider_of
from hitledger.segments import Layout, hidden
from hitledger.types import Call, Evidence, Kind, Place, Prompt, Tier, prompt_of
from hitledger.usage import read_usage

FORMAT = "cline-sdk"
COMPACTED = frozenset({"compaction", "compaction_summary"})
SESSION_KEYS = frozenset({"session_id", "enable_spawn", "messages_path", "workspace_root"})


def sniff(file: LogFile) -> bool:
    """A document of messages with `agent` and `sessionId`, or a session's own record."""
    head = mapping(opening(file))
    if head.keys() >= SESSION_KEYS:
        return True
    named = isinstance(head.get("sessionId"), str) and isinstance(head.get("agent"), str)
    return named and isinstance(head.get("messages"), list) and "updated_at" in head


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order. A message that stands in two files is one call."""
    layout = Layout(keep_text=False)
    seen: set[tuple[str, str]] = set()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            document = mapping(value.data)
            if "messages" in document:
                yield from _Transcript(file.name, document, ledger, layout, seen).calls(value.cut)
            else:
                ledger.count_rows()
                ledger.known("session")


@dataclass(slots=True)
class _Transcript:
    file: str
    document: Mapping[str, Any]
    ledger: FileLedger
    layout: Layout
    seen: set[tuple[str, str]]
    prompt: Prompt = field(init=False)
    events: list[str] = field(default_factory=list)
    latest: datetime | None = None

    def __post_init__(self) -> None:
        system = text(self.document.get("system_prompt"))
        segment = self.layout.text(system, Kind.SYSTEM, Tier.SYSTEM, "system_prompt", "system")
        self.prompt = prompt_of((hidden(label=f"{FORMAT}: tools"), segment))

    def calls(self, cut: bool) -> Iterator[Call]:
        """The session's calls; in the file that a compaction leaves, nothing is one: it is a state, not a history."""
        messages = [mapping(message) for message in items(self.document.get("messages"))]
        self.ledger.count_rows(len(messages))
        compacted = any(text(mapping(message.get("metadata")).get("kind")) in COMPACTED for message in messages)
        for number, message in enumerate(messages, 1):
            role = text(message.get("role"))
            if cut and number == len(messages):
                self.ledger.skip(number, "the file ends inside this message")
                continue
            if not role:
                self.ledger.skip(number, "a message without a role")
                continue
            if compacted:
                self.ledger.known("message kept by a compaction")
            elif role == "assistant":
                yield from self._answer(number, message)
            else:
                self.ledger.known(f"{role} message")
                self.events += [] if _is_tool_result(message) else ["user_turn"]
            blocks = self.layout.blocks(message.get("content"), role, f"messages[{number - 1}].content")
            self.prompt = self.prompt.extend(blocks)
            self.latest = instant(message.get("ts")) or self.latest

    def _answer(self, number: int, message: Mapping[str, Any]) -> Iterator[Call]:
        session = text(self.document.get("sessionId"))
        name = first_text(message.get("id"), f"{session}:{number}")
        if (session, name) in self.seen:
            self.ledger.known("same call")
            return
        self.seen.add((session, name))
        self.ledger.call()
        info, metrics = mapping(message.get("modelInfo")), mapping(message.get("metrics"))
        usage, notes = read_usage(metrics, inclusive=True)
        ended = instant(message.get("ts"))
        events, self.events = tuple(dict.fromkeys(self.events)), []
        yield Call(
            id=name,
            session=session,
            agent="main",
            place=Place(self.file, number),
            provider=provider_of(text(info.get("id")), text(info.get("provider"))),
            model=text(info.get("id")),
            evidence=Evidence.RECONSTRUCTED,
            prompt=self.prompt,
            started_at=self.latest or ended,
            ended_at=ended,
            usage=usage,
            logged_cost=dollars(metrics.get("cost")),
            events=events,
            notes=("start_estimated", *notes, *(() if usage else ("usage_missing",))),
        )


def _is_tool_result(message: Mapping[str, Any]) -> bool:
    return any(mapping(block).get("type") == "tool_result" for block in items(message.get("content")))
