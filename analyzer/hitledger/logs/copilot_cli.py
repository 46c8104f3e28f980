"""Events of Copilot CLI (`events.jsonl`): messages and the system prompt per call, prompt usage only per session."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hitledger.logs.fields import count, first_text, items, mapping, parsed, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.parameters import canonical
from hitledger.providers import provider_of
from hitledger.segments import Layout, hidden
from hitledger.types import Call, Evidence, Kind, Parameter, Place, Prompt, Segment, Tier, prompt_of

FORMAT = "copilot-cli"
MAIN = "main"
REFUSED = 400  # a session error with this status or a higher one answers a request
EVENT_OF = {
    "session.resume": "resume",
    "session.truncation": "compaction",
    "session.compaction_complete": "compaction",
    "session.snapshot_rewind": "rewind",
}


def sniff(file: LogFile) -> bool:
    """The first row is the start of a session by the copilot agent."""
    rows = file.head_rows()
    head = mapping(rows[0]) if rows else {}
    return head.get("type") == "session.start" and "copilotVersion" in mapping(head.get("data"))


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order: one for each answer of a model, and one for each refused request."""
    layout = Layout(keep_text=False)
    seen: set[tuple[str, str]] = set()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        session = _Session(file.name, ledger, layout, seen)
        for row in file.rows(ledger):
            call = session.take(row.number, mapping(row.data))
            if call is not None:
                yield call


@dataclass(slots=True)
class _Agent:
    """The main agent or a sub-agent: what it would send next."""

    prompt: Prompt = field(default_factory=lambda: _head(()))
    system: tuple[Segment, ...] = ()
    events: list[str] = field(default_factory=list)
    started: datetime | None = None


@dataclass(slots=True)
class _Session:
    file: str
    ledger: FileLedger
    layout: Layout
    seen: set[tuple[str, str]]
    id: str = ""
    project: str = ""
    model: str = ""
    effort: str = ""
    agents: dict[str, _Agent] = field(default_factory=dict)

    def take(self, number: int, row: Mapping[str, Any]) -> Call | None:
        """One event; the call that it reports, if it reports one."""
        kind, data = text(row.get("type")), mapping(row.get("data"))
        if not kind:
            self.ledger.skip(number, "an event without a type")
            return None
        if kind == "assistant.message":
            return self._answer(number, row, data)
        if kind == "session.error" and (count(data.get("statusCode")) or 0) >= REFUSED:
            return self._refused(number, row, data)
        self._learn(number, kind, row, data)
        self.ledger.known(kind)
        return None

    def _learn(self, number: int, kind: str, row: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        agent = self._agent(data)
        path = f"[{number - 1}].data"
        if kind.startswith("session."):
            self._settings(kind, data)
        if kind in EVENT_OF:
            agent.events.append(EVENT_OF[kind])
        if kind in ("session.truncation", "session.compaction_complete"):
            agent.prompt = _head(agent.system).extend((hidden(label=f"{self.id}: messages kept at row {number}"),))
        elif kind == "system.message":
            self._system(agent, path, data)
        elif kind == "user.message":
            agent.events.append("user_turn")
            sent = first_text(data.get("transformedContent"), data.get("content"))
            agent.prompt = agent.prompt.extend(self.layout.blocks(sent, "user", f"{path}.content"))
        elif kind == "tool.execution_complete":
            agent.prompt = agent.prompt.extend(self._tool_result(path, data))
        if kind in ("assistant.turn_start", "tool.execution_complete", "user.message"):
            agent.started = instant(row.get("timestamp")) or agent.started

    def _settings(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "session.start":
            self.id = text(data.get("sessionId"))
        self.project = first_text(mapping(data.get("context")).get("cwd"), self.project)
        self.model = first_text(data.get("newModel"), data.get("selectedModel"), data.get("chosenModel"), self.model)
        self.effort = first_text(data.get("reasoningEffort"), self.effort)
        for model, totals in mapping(data.get("modelMetrics")).items():
            self.ledger.note(_totals(model, mapping(totals)))

    def _agent(self, data: Mapping[str, Any]) -> _Agent:
        return self.agents.setdefault(first_text(data.get("parentToolCallId"), MAIN), _Agent())

    def _system(self, agent: _Agent, path: str, data: Mapping[str, Any]) -> None:
        """A system prompt takes the place of the one before it, in front of all messages."""
        content = text(data.get("content"))
        system = (self.layout.text(content, Kind.SYSTEM, Tier.SYSTEM, f"{path}.content", "system"),)
        if [known.digest for known in agent.system] != [system[0].digest]:
            messages = agent.prompt.segments()[1 + len(agent.system) :]
            agent.system, agent.prompt = system, _head(system).extend(messages)

    def _tool_result(self, path: str, data: Mapping[str, Any]) -> tuple[Segment, ...]:
        content = mapping(data.get("result")).get("content")
        block = {"type": "tool_result", "tool_use_id": data.get("toolCallId"), "content": content}
        return self.layout.blocks([block], "tool", f"{path}.result")

    def _answer(self, number: int, row: Mapping[str, Any], data: Mapping[str, Any]) -> Call | None:
        agent, path = self._agent(data), f"[{number - 1}].data"
        requests = [_tool_use(request) for request in items(data.get("toolRequests"))]
        blocks = self.layout.blocks(text(data.get("content")) or None, "assistant", f"{path}.content")
        blocks += self.layout.blocks(requests, "assistant", f"{path}.toolRequests")
        call = self._call(number, row, data, agent)
        agent.prompt = agent.prompt.extend(blocks)
        if call is None:
            self.ledger.known("same call")
        else:
            self.ledger.call()
        return call

    def _call(self, number: int, row: Mapping[str, Any], data: Mapping[str, Any], agent: _Agent) -> Call | None:
        """The call of an answer; None for a further part of one that was counted already."""
        key = (self.id, first_text(data.get("apiCallId"), data.get("requestId"), f"{self.file}:{number}"))
        if key in self.seen:
            return None
        self.seen.add(key)
        usage_notes = ("usage_per_session_only",)
        return self._made(number, row, data, agent, key[1], 200, usage_notes)

    def _refused(self, number: int, row: Mapping[str, Any], data: Mapping[str, Any]) -> Call:
        self.ledger.call()
        name = first_text(data.get("providerCallId"), row.get("id"), f"{self.id}:{number}")
        return self._made(number, row, data, self._agent(data), name, count(data.get("statusCode")) or REFUSED, ())

    def _made(
        self,
        number: int,
        row: Mapping[str, Any],
        data: Mapping[str, Any],
        agent: _Agent,
        name: str,
        status: int,
        notes: tuple[str, ...],
    ) -> Call:
        model = first_text(data.get("model"), self.model)
        agent_id = first_text(data.get("parentToolCallId"), MAIN)
        events, agent.events = tuple(dict.fromkeys(agent.events)), []
        ended = instant(row.get("timestamp"))
        return Call(
            id=name,
            session=self.id,
            agent=agent_id,
            place=Place(self.file, number),
            provider=provider_of(model),
            model=model,
            evidence=Evidence.RECONSTRUCTED,
            prompt=agent.prompt,
            started_at=agent.started or ended,
            ended_at=ended,
            status=status,
            parameters=(Parameter("effort", "reasoningEffort", canonical(self.effort)),) if self.effort else (),
            events=events,
            parent_agent="" if agent_id == MAIN else MAIN,
            project=self.project,
            notes=("start_estimated", *notes),
        )


def _head(system: tuple[Segment, ...]) -> Prompt:
    """What stands in front of the messages: the tool definitions, which the log does not hold, and the system prompt."""
    return prompt_of((hidden(label=f"{FORMAT}: tools"), *system))


def _tool_use(request: Any) -> dict[str, Any]:
    request = mapping(request)
    arguments = request.get("arguments")
    sent = parsed(arguments)
    used = {"id": request.get("toolCallId"), "name": request.get("name"), "input": arguments if sent is None else sent}
    return {"type": "tool_use", **used}


def _totals(model: str, totals: Mapping[str, Any]) -> str:
    """What a session says it used of a model. Its input holds what was read (input >= read in all logs seen)."""
    usage, requests = mapping(totals.get("usage")), totals.get("requests")
    number = count(mapping(requests).get("count")) if isinstance(requests, dict) else count(requests)
    parts = [f"{'unknown' if number is None else number} requests"]
    names = (("inputTokens", "input"), ("cacheReadTokens", "read"), ("outputTokens", "output"))
    parts += [f"{value} {name}" for key, name in names if (value := count(usage.get(key))) is not None]
    return f"session total of {model[:80]}: {', '.join(parts)}"
