"""Chats of Qwen Code: a tree of JSON lines in Gemini's shapes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from hitledger.logs.fields import first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden_head
from hitledger.types import Call, Evidence, Place, Prompt, Segment
from hitledger.usage import read_usage

FORMAT = "qwen-code"
KEYS = frozenset({"uuid", "parentUuid", "sessionId", "type"})
EVENT_OF = {"rewind": "rewind", "chat_compression": "compaction"}


def sniff(file: LogFile) -> bool:
    """Rows of a tree whose messages have `parts`, or whose system rows are Qwen's."""
    head = mapping(opening(file))
    if not head.keys() >= KEYS:
        return False
    return isinstance(mapping(head.get("message")).get("parts"), list) or isinstance(head.get("systemPayload"), dict)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order. An answer that is written in several rows of one id is one call."""
    layout = Layout(keep_text=False)
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        rows = [(row.number, mapping(row.data)) for row in file.rows(ledger)]
        yield from _Chat(file.name, ledger, layout, rows).calls()


@dataclass(slots=True)
class _Chat:
    file: str
    ledger: FileLedger
    layout: Layout
    rows: list[tuple[int, Mapping[str, Any]]]
    usages: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # the last that a row of an answer carries
    models: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, Prompt] = field(default_factory=dict)  # what stands behind each entry of the tree
    seen: set[str] = field(default_factory=set)
    events: list[str] = field(default_factory=list)
    last: Prompt = field(default_factory=lambda: hidden_head(FORMAT))
    latest: datetime | None = None

    def __post_init__(self) -> None:
        for number, row in self.rows:
            if row.get("type") != "assistant":
                continue
            key = self._key(number, row)
            self.models[key] = first_text(row.get("model"), self.models.get(key))
            if mapping(row.get("usageMetadata")):
                self.usages[key] = mapping(row.get("usageMetadata"))

    def _key(self, number: int, row: Mapping[str, Any]) -> str:
        return first_text(row.get("uuid"), f"row {number}")

    def calls(self) -> Iterator[Call]:
        """The chat's calls; every row gets its entry in the ledger."""
        for number, row in self.rows:
            kind, key = text(row.get("type")), self._key(number, row)
            at = self.prompts.get(
                text(row.get("parentUuid")), self.last if row.get("parentUuid") else hidden_head(FORMAT)
            )
            if not kind:
                self.ledger.skip(number, "a row without a type")
                continue
            if kind == "assistant" and key not in self.seen:
                self.seen.add(key)
                self.ledger.call()
                yield self._call(number, row, key, at)
            else:
                self._known(kind, key, row)
            before = self.prompts.get(key, at)  # a further row of the same answer adds to it
            self.prompts[key] = self.last = before.extend(self._segments(number, kind, row))
            self.latest = instant(row.get("timestamp")) or self.latest

    def _known(self, kind: str, key: str, row: Mapping[str, Any]) -> None:
        subtype = text(row.get("subtype"))
        if kind == "assistant":
            self.ledger.known("same call")
        else:
            self.ledger.known(f"{kind}/{subtype}" if subtype else kind)
        if kind == "user" and subtype != "notification":
            self.events.append("user_turn")
        if subtype in EVENT_OF:
            self.events.append(EVENT_OF[subtype])

    def _call(self, number: int, row: Mapping[str, Any], key: str, at: Prompt) -> Call:
        usage, notes = read_usage(self.usages.get(key, {}))
        model = self.models[key]
        events, self.events = tuple(dict.fromkeys(self.events)), []
        ended = instant(row.get("timestamp"))
        return Call(
            id=key,
            session=text(row.get("sessionId")),
            agent="main",
            place=Place(self.file, number),
            provider=provider_of(model),
            model=model,
            evidence=Evidence.RECONSTRUCTED,
            prompt=at,
            api=Api.GENERATE_CONTENT,
            started_at=self.latest or ended,
            ended_at=ended,
            usage=usage,
            events=events,
            project=text(row.get("cwd")),
            notes=("start_estimated", *notes, *(() if usage else ("usage_missing",))),
        )

    def _segments(self, number: int, kind: str, row: Mapping[str, Any]) -> tuple[Segment, ...]:
        if kind == "system":
            return ()
        message = mapping(row.get("message"))
        body = {"contents": [{"role": message.get("role"), "parts": items(message.get("parts"))}]}
        prompt = self.layout.prompt(body, Api.GENERATE_CONTENT)
        return tuple(
            replace(segment, path=f"[{number - 1}].message.{segment.path.partition('.')[2]}")
            for segment in prompt.segments()
        )
