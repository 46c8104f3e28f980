"""Tasks of Cline, Roo Code and Kilo Code: requests from `ui_messages`, prompts from `api_conversation_history`."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hitledger.logs.cline_task import HISTORY, METADATA, SCREEN, Part, Task, load_tasks, sniff_task
from hitledger.logs.fields import dollars, first_text, items, mapping, parsed, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.instants import instant
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden_head
from hitledger.types import Call, Evidence, Place, Prompt
from hitledger.usage import read_usage

FORMAT = "cline"
ANTHROPIC, OPENAI = "anthropic", "openai"
USAGE_KEYS = ("tokensIn", "tokensOut", "cacheWrites", "cacheReads")
EVENT_OF = {
    "user_feedback": "user_turn",
    "task": "user_turn",
    "condense_context": "compaction",
    "resume_task": "resume",
    "resume_completed_task": "resume",
    "subtask_result": "resume",
}
MODEL_NOTE = re.compile(r"<model>([^<>\s]{1,120})</model>")  # Roo says the model in the environment part of a message


def sniff(file: LogFile) -> bool:
    """One of the three files of a task."""
    return sniff_task(file)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls task by task, in the order of the first file of each."""
    layout = Layout(keep_text=False)
    for task in load_tasks(files, ingest, FORMAT):
        yield from _read_task(task, layout)


def _read_task(task: Task, layout: Layout) -> Iterator[Call]:
    for role, part in task.parts.items():
        if role in (METADATA, ""):
            for number, row in enumerate(part.rows, 1):
                if role and row:
                    part.ledger.known("task metadata")
                else:
                    part.ledger.skip(number, "not a record of a task")
    history = _History(task.parts.get(HISTORY), layout)
    screen = task.parts.get(SCREEN)
    requests = _requests(screen) if screen else []
    if screen:
        yield from _from_screen(task, screen, requests, history)
    yield from history.calls(task, counted=bool(requests))


@dataclass(frozen=True, slots=True)
class _Request:
    row: int
    data: Mapping[str, Any]
    started: datetime | None
    events: tuple[str, ...]


def _requests(screen: Part) -> list[_Request]:
    """The rows that say that a request was started; every other row is known by its kind."""
    found: list[_Request] = []
    events: list[str] = []
    for number, row in enumerate(screen.rows, 1):
        kind = first_text(row.get("say"), row.get("ask"))
        said = parsed(row.get("text")) if kind == "api_req_started" else None
        if isinstance(said, dict):
            if not found:
                events.insert(0, "user_turn")
            found.append(_Request(number, said, instant(row.get("ts")), tuple(dict.fromkeys(events))))
            events = []
        elif kind == "api_req_started":
            screen.ledger.skip(number, "a request whose text is not JSON")
        elif kind or row.get("type") in ("user", "assistant"):
            screen.ledger.known(kind or "message without figures")
            events += [EVENT_OF[kind]] if kind in EVENT_OF else []
        else:
            screen.ledger.skip(number, "neither said nor asked")
    return found


def _from_screen(task: Task, screen: Part, requests: list[_Request], history: "_History") -> Iterator[Call]:
    starts = [request.started for request in requests]
    for position, (request, next_start) in enumerate(zip(requests, [*starts[1:], None], strict=False)):
        screen.ledger.call()
        data = request.data
        protocol = text(data.get("apiProtocol"))
        usage, notes = read_usage({key: data.get(key) for key in USAGE_KEYS}, inclusive=protocol == OPENAI)
        cost = dollars(data.get("cost"))
        if usage is None:
            notes += (f"cancelled:{text(data.get('cancelReason'))[:40] or 'unknown'}",)
        if cost and protocol == ANTHROPIC and usage is not None and usage.output_tokens:
            notes += ("logged_cost_omits_output",)
        evidence, prompt, ended = history.sent(position, len(requests), request.started, next_start)
        model, provider = _model(task, request, screen.rows[request.row - 1])
        yield Call(
            id=f"{task.id}:{request.row}",
            session=task.id,
            agent="main",
            place=Place(screen.file.name, request.row),
            provider=provider_of(model, provider or (protocol if protocol == ANTHROPIC else "")),
            model=model,
            evidence=evidence,
            prompt=prompt,
            api=Api.MESSAGES if protocol == ANTHROPIC else "",
            started_at=request.started,
            ended_at=ended,
            usage=usage,
            logged_cost=cost,
            events=request.events,
            project=text(task.metadata().get("workspace")),
            notes=notes,
        )


def _model(task: Task, request: _Request, row: Mapping[str, Any]) -> tuple[str, str]:
    """Model and provider: from the row (Cline), the metadata's latest entry (Cline), the sent text (Roo)."""
    info = mapping(row.get("modelInfo"))
    if info.get("modelId"):
        return text(info["modelId"]), text(info.get("providerId"))
    used = [mapping(entry) for entry in items(task.metadata().get("model_usage"))]
    started = request.started
    earlier = [entry for entry in used if started and (instant(entry.get("ts")) or started) <= started]
    if earlier:
        return text(earlier[-1].get("model_id")), text(earlier[-1].get("model_provider_id"))
    found = MODEL_NOTE.findall(text(request.data.get("request")))
    return (found[-1], "") if found else ("", "")


@dataclass(slots=True)
class _Message:
    row: int
    role: str
    time: datetime | None
    before: Prompt  # what stands in front of it


@dataclass(slots=True)
class _History:
    """The conversation as it stands now. What a condensation removed is gone from it."""

    part: Part | None
    layout: Layout
    messages: list[_Message] = field(default_factory=list)
    answers: list[_Message] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)  # of the answers, ascending; none where one of them has none

    def __post_init__(self) -> None:
        prompt = hidden_head(FORMAT)
        for number, row in enumerate(self.part.rows if self.part else [], 1):
            role = text(row.get("role"))
            if row.get("isSummary"):
                prompt = hidden_head(FORMAT)
            self.messages.append(_Message(number, role, instant(row.get("ts")), prompt))
            content = row.get("content")
            prompt = prompt.extend(self.layout.blocks(content, role, f"[{number - 1}].content"))
        self.answers = [message for message in self.messages if message.role == "assistant"]
        if all(message.time for message in self.answers):
            self.answers.sort(key=lambda message: message.time or datetime.min)  # stored as they came, nearly always
            self.times = [message.time for message in self.answers if message.time]

    def sent(
        self, position: int, number: int, started: datetime | None, until: datetime | None
    ) -> tuple[Evidence, Prompt, datetime | None]:
        """What the request at `position` of `number` sent, and when its answer was stored."""
        answers, times = self.answers, self.times
        if times and started:
            first = bisect_left(times, started)
            if first < len(times) and (until is None or times[first] <= until):
                return Evidence.RECONSTRUCTED, answers[first].before, answers[first].time
        elif len(answers) == number:
            return Evidence.RECONSTRUCTED, answers[position].before, answers[position].time
        return Evidence.USAGE_ONLY, Prompt(()), None

    def calls(self, task: Task, counted: bool) -> Iterator[Call]:
        """Every row's entry in the ledger; the answers are calls where no screen file counted the requests."""
        if self.part is None:
            return
        for message in self.messages:
            if message.role not in ("user", "assistant"):
                self.part.ledger.skip(message.row, "a message without a role")
            elif message.role == "user":
                self.part.ledger.known("user message")
            elif counted:
                self.part.ledger.known("same call")
            else:
                self.part.ledger.call()
                yield self._call(task, message, self.part.file.name)

    def _call(self, task: Task, message: _Message, file: str) -> Call:
        earlier = [known.time for known in self.messages[: message.row - 1] if known.time]
        return Call(
            id=f"{task.id}:{message.row}",
            session=task.id,
            agent="main",
            place=Place(file, message.row),
            provider="",
            model="",
            evidence=Evidence.RECONSTRUCTED,
            prompt=message.before,
            started_at=earlier[-1] if earlier else message.time,
            ended_at=message.time,
            project=text(task.metadata().get("workspace")),
            notes=("start_estimated", "usage_missing"),
        )
