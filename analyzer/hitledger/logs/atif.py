"""Agent trajectories in Harbor's interchange format (ATIF): steps with metrics, sometimes with the exact token ids."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hitledger.logs.fields import count, dollars, first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden
from hitledger.types import Call, Evidence, Place, Prompt, Segment, prompt_of
from hitledger.usage import read_usage

FORMAT = "atif"
ROLE_OF = {"system": "system", "user": "user", "agent": "assistant"}
MAX_SUBAGENTS = 1000
MAIN = "main"


def sniff(file: LogFile) -> bool:
    """The schema names itself."""
    head = mapping(opening(file))
    return text(head.get("schema_version")).startswith("ATIF-") and isinstance(head.get("agent"), dict)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order, a trajectory before the sub-agents embedded in it."""
    layout = Layout()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            yield from _read_document(file.name, mapping(value.data), value.cut, ledger, layout)


def _read_document(
    file: str, document: Mapping[str, Any], cut: bool, ledger: FileLedger, layout: Layout
) -> Iterator[Call]:
    session = first_text(document.get("session_id"), document.get("trajectory_id"), file)
    waiting = [(document, MAIN, "")]
    done = 0
    while waiting and done < MAX_SUBAGENTS:
        trajectory, agent, parent = waiting.pop(0)
        done += 1
        if text(trajectory.get("continued_trajectory_ref")):
            ledger.note("the trajectory goes on in another file")
        yield from _Trajectory(file, session, agent, parent, trajectory, layout, ledger).calls(cut and not waiting)
        for position, inner in enumerate(map(mapping, items(trajectory.get("subagent_trajectories"))), 1):
            waiting.append((inner, first_text(inner.get("trajectory_id"), f"{agent}/{position}"), agent))
    if waiting:
        ledger.note(f"{len(waiting)} embedded trajectories beyond the first {MAX_SUBAGENTS} were not read")


@dataclass(slots=True)
class _Trajectory:
    file: str
    session: str
    agent: str
    parent: str
    document: Mapping[str, Any]
    layout: Layout
    ledger: FileLedger
    prompt: Prompt = field(init=False)
    events: list[str] = field(default_factory=list)
    latest: datetime | None = None

    def __post_init__(self) -> None:
        tools = {"tools": items(mapping(self.document.get("agent")).get("tool_definitions"))}
        head = self.layout.prompt(tools, Api.CHAT).segments()
        self.prompt = prompt_of((hidden(label=f"{FORMAT}: system prompt and tools"), *head))

    def calls(self, cut: bool) -> Iterator[Call]:
        """The trajectory's calls; every step gets its entry in the ledger, rows count the steps of the file."""
        steps = [mapping(step) for step in items(self.document.get("steps"))]
        for number, step in enumerate(steps, 1):
            self.ledger.count_rows()
            source = text(step.get("source"))
            if (cut and number == len(steps)) or source not in ROLE_OF:
                reason = "the file ends inside this step" if cut else "a step without a source"
                self.ledger.skip(self.ledger.rows, reason)
                continue
            reason = _no_call(source, step)
            if reason:
                self.ledger.known(reason)
            else:
                self.ledger.call()
                yield self._call(number, step)
            if source == "user":
                self.events.append("user_turn")
            self.prompt = self.prompt.extend(self._segments(f"steps[{number - 1}]", ROLE_OF[source], step))
            self.latest = instant(step.get("timestamp")) or self.latest

    def _call(self, number: int, step: Mapping[str, Any]) -> Call:
        agent, metrics = mapping(self.document.get("agent")), mapping(step.get("metrics"))
        named = {key: metrics.get(key) for key in ("prompt_tokens", "completion_tokens", "cached_tokens")}
        written = mapping(metrics.get("extra")).get("cache_creation_input_tokens")
        usage, notes = read_usage({**named, "cache_write_tokens": written}, inclusive=True)
        if (count(step.get("llm_call_count")) or 1) > 1:
            notes += ("several_calls_in_one",)
        model = first_text(step.get("model_name"), agent.get("model_name"))
        ids = _token_ids(metrics.get("prompt_token_ids"))
        events, self.events = tuple(dict.fromkeys(self.events)), []
        return Call(
            id=f"{self.session}:{self.agent}:{number}",
            session=self.session,
            agent=self.agent,
            place=Place(self.file, self.ledger.rows),
            provider=provider_of(model),
            model=model,
            evidence=Evidence.EXACT if ids else Evidence.RECONSTRUCTED,
            prompt=self.layout.token_ids(ids) if ids else self.prompt,
            started_at=self.latest or instant(step.get("timestamp")),
            ended_at=instant(step.get("timestamp")),
            usage=usage,
            logged_cost=dollars(metrics.get("cost_usd")),
            prompt_ids=ids,
            generated_ids=_token_ids(metrics.get("completion_token_ids")),
            events=events,
            parent_agent=self.parent,
            notes=("start_estimated", *notes, *(() if usage else ("usage_missing",))),
        )

    def _segments(self, path: str, role: str, step: Mapping[str, Any]) -> tuple[Segment, ...]:
        message = {"content": step.get("message"), "reasoning_content": step.get("reasoning_content")}
        message |= {"tool_calls": items(step.get("tool_calls"))}
        found = self.layout.blocks(message, role, path, Api.CHAT)
        results = items(mapping(step.get("observation")).get("results"))
        blocks = [
            {"type": "tool_result", "tool_use_id": result.get("source_call_id"), "content": result.get("content")}
            for result in map(mapping, results)
        ]
        return found + self.layout.blocks(blocks, "tool", f"{path}.observation.results")


def _no_call(source: str, step: Mapping[str, Any]) -> str:
    """Why a step is no request; "" for one that is."""
    if source != "agent":
        return f"{source} step"
    if step.get("is_copied_context"):
        return "step copied from another trajectory"
    return "step without a model" if step.get("llm_call_count") == 0 else ""


def _token_ids(value: Any) -> tuple[int, ...]:
    ids = items(value)
    return tuple(ids) if all(type(token) is int and token >= 0 for token in ids) else ()
