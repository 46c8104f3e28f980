"""Trajectories of OpenHands until version 1: a list of events that carry the model's responses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hitledger.logs.fields import first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden_head
from hitledger.types import Call, Evidence, Place, Prompt
from hitledger.usage import read_usage

FORMAT = "openhands-trajectory"
ANSWERS = frozenset({"message", "finish"})  # actions of the agent that are an answer even without a tool call


def sniff(file: LogFile) -> bool:
    """A list of events with a source and an action or an observation, alone or in a trajectory's document."""
    head = opening(file)
    events = items(head) or items(mapping(head).get("trajectory")) or items(mapping(head).get("history"))
    first = mapping(events[0]) if events else {}
    return isinstance(first.get("source"), str) and ("action" in first or "observation" in first)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order. Events that repeat a response (the observation of an action) are the same call."""
    layout = Layout(keep_text=False)
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        trajectory = _Trajectory(file.name, ledger, layout)
        for value in values(file, ledger):
            document = mapping(value.data)
            events = items(value.data) or items(document.get("trajectory")) or items(document.get("history"))
            ledger.count_rows(len(events))
            for number, event in enumerate(map(mapping, events), 1):
                if value.cut and number == len(events):
                    ledger.skip(number, "the file ends inside this event")
                    continue
                call = trajectory.take(number, event)
                if call is not None:
                    yield call


@dataclass(slots=True)
class _Trajectory:
    file: str
    ledger: FileLedger
    layout: Layout
    prompt: Prompt = field(default_factory=lambda: hidden_head(FORMAT))
    seen: set[str] = field(default_factory=set)
    events: list[str] = field(default_factory=list)
    latest: datetime | None = None

    def take(self, number: int, event: Mapping[str, Any]) -> Call | None:
        """One event; the call whose answer it is."""
        action, observation = text(event.get("action")), text(event.get("observation"))
        response = mapping(mapping(event.get("tool_call_metadata")).get("model_response"))
        call = None
        if not isinstance(event.get("source"), str):
            self.ledger.skip(number, "an event without a source")
            return None
        if event["source"] == "agent" and action and (response or action in ANSWERS):
            call = self._answered(number, event, response)
        else:
            self.ledger.known(action or observation or "event")
        self._append(number, event, action, observation)
        self.latest = instant(event.get("timestamp")) or self.latest
        return call

    def _answered(self, number: int, event: Mapping[str, Any], response: Mapping[str, Any]) -> Call | None:
        name = first_text(response.get("id"), f"{self.file}:{number}")
        if name in self.seen:
            self.ledger.known("same call")
            return None
        self.seen.add(name)
        self.ledger.call()
        usage, notes = read_usage(mapping(response.get("usage")))
        model = text(response.get("model"))
        ended = instant(event.get("timestamp"))
        events, self.events = tuple(dict.fromkeys(self.events)), []
        call = Call(
            id=name,
            session=self.file,
            agent="main",
            place=Place(self.file, number),
            provider=provider_of(model.removeprefix("litellm_proxy/")),
            model=model,
            evidence=Evidence.RECONSTRUCTED,
            prompt=self.prompt,
            api=Api.CHAT,
            started_at=self.latest or ended,
            ended_at=ended,
            usage=usage,
            events=events,
            notes=("start_estimated", *notes, *(() if usage else ("usage_missing",))),
        )
        choices = items(response.get("choices"))
        if choices:
            said = mapping(mapping(choices[0]).get("message"))
            blocks = self.layout.blocks(said, "assistant", f"[{number - 1}].tool_call_metadata", Api.CHAT)
            self.prompt = self.prompt.extend(blocks)
        return call

    def _append(self, number: int, event: Mapping[str, Any], action: str, observation: str) -> None:
        """What an event adds to the conversation beside the response in it."""
        path = f"[{number - 1}]"
        if action == "message":
            role = "user" if event["source"] == "user" else "assistant"
            if role == "user":
                self.events.append("user_turn")
            if "tool_call_metadata" not in event:
                content = first_text(mapping(event.get("args")).get("content"), event.get("message"))
                self.prompt = self.prompt.extend(self.layout.blocks(content, role, f"{path}.args.content"))
        elif observation and "tool_call_metadata" in event:
            called = mapping(event.get("tool_call_metadata")).get("tool_call_id")
            block = {"type": "tool_result", "tool_use_id": called, "content": event.get("content")}
            self.prompt = self.prompt.extend(self.layout.blocks([block], "tool", f"{path}.content"))
        elif action == "condensation":
            self.events.append("compaction")
