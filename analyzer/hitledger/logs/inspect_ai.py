"""Evaluation logs of Inspect AI: each `model` event of a sample is one request, mostly with the raw body sent."""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.captured.dialect import api_of
from hitledger.logs.fields import first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.inspect_archive import Sample, is_inspect_log, resolved, samples
from hitledger.logs.instants import after, instant
from hitledger.parameters import parameters_of
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden
from hitledger.types import Call, Evidence, Place, Prompt, Usage, prompt_of
from hitledger.usage import read_usage, served_tier

FORMAT = "inspect-ai"
OWN_AGENTS = frozenset({"agent", "scorer"})  # spans and steps that hold a conversation of their own


def sniff(file: LogFile) -> bool:
    """Either container of a log."""
    return is_inspect_log(file)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order. The same evaluation in two files counts once."""
    layout = Layout()
    seen: set[tuple[str, ...]] = set()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for sample in samples(file, ledger):
            yield from _Sample(file.name, sample, layout, seen).calls(ledger)
        if not ledger.rows:
            ledger.count_rows()
            ledger.known("evaluation without samples")


class _Sample:
    """One sample's events. Rows count the events of the file from 1."""

    def __init__(self, file: str, sample: Sample, layout: Layout, seen: set[tuple[str, ...]]) -> None:
        self.file = file
        self.cut = sample.cut
        self.layout = layout
        self.seen = seen
        early = mapping(sample.data.get("transcript"))
        self.events = [mapping(event) for event in items(sample.data.get("events")) or items(early.get("events"))]
        self.attachments = mapping(sample.data.get("attachments")) or mapping(early.get("content"))
        pooled = mapping(sample.data.get("events_data"))
        self.pool = items(sample.data.get("message_pool")) or items(pooled.get("messages"))
        run = first_text(sample.evaluation.get("eval_id"), sample.evaluation.get("run_id"), file)
        self.session = f"{run}:{sample.data.get('id')}:{sample.data.get('epoch')}"
        self.spans: dict[str, tuple[str, str]] = {}  # span -> its parent, and the agent that it is, if it is one
        self.steps: list[str] = []

    def calls(self, ledger: FileLedger) -> Iterator[Call]:
        """The sample's calls; every event gets its entry in the ledger."""
        if not self.events:
            ledger.count_rows()
            if self.cut:
                ledger.skip(ledger.rows, "the file ends inside this sample")
            else:
                ledger.known("sample without events")
        for position, event in enumerate(self.events, 1):
            ledger.count_rows()
            kind = text(event.get("event"))
            if (self.cut and position == len(self.events)) or not kind:
                reason = "an event without a kind" if not self.cut else "the file ends inside this event"
                ledger.skip(ledger.rows, reason)
                continue
            self._enter(kind, event)
            reason = self._no_call(kind, position, event)
            if reason:
                ledger.known(reason)
                continue
            ledger.call()
            yield self._call(position, ledger.rows, event)

    def _no_call(self, kind: str, position: int, event: Mapping[str, Any]) -> str:
        """Why an event is no request that was sent; "" for one that was."""
        if kind != "model":
            return kind
        if event.get("pending"):
            return "model call still running"
        if event.get("cache") == "read":
            return "answered from Inspect's own cache"
        key = (self.session, str(position), text(event.get("timestamp")))
        if key in self.seen:
            return "same call"
        self.seen.add(key)
        return ""

    def _enter(self, kind: str, event: Mapping[str, Any]) -> None:
        """Follow spans (and the steps of early logs), which say whose conversation an event belongs to."""
        named = f"{text(event.get('type'))}:{text(event.get('name'))}" if text(event.get("type")) in OWN_AGENTS else ""
        if kind == "span_begin":
            self.spans[text(event.get("id"))] = (text(event.get("parent_id")), named)
        elif kind == "step" and event.get("action") == "begin":
            self.steps.append(named)
        elif kind == "step" and self.steps:
            self.steps.pop()

    def _agent(self, event: Mapping[str, Any]) -> str:
        span, passed = text(event.get("span_id")), set[str]()
        while span in self.spans and span not in passed:
            passed.add(span)
            span, named = self.spans[span]
            if named:
                return named
        return next((named for named in reversed(self.steps) if named), "main")

    def _call(self, position: int, row: int, event: Mapping[str, Any]) -> Call:
        raw, output = mapping(event.get("call")), mapping(event.get("output"))
        body = resolved(mapping(raw.get("request")), self.attachments)
        response = mapping(raw.get("response"))
        named = first_text(event.get("model"), output.get("model"))
        host, _, model = named.partition("/")
        api = api_of(body) if body else None
        evidence, prompt = self._prompt(body, api, event)
        usage, notes = _usage(response, output)
        started, agent = instant(event.get("timestamp")), self._agent(event)
        ended = instant(event.get("completed")) or after(started, _milliseconds(output.get("time")))
        error = bool(event.get("error") or output.get("error"))
        return Call(
            id=first_text(response.get("id"), event.get("uuid"), f"{self.session}:{position}"),
            session=self.session,
            agent=agent,
            place=Place(self.file, row),
            provider=provider_of(model or host, host),
            model=first_text(body.get("model"), model, host),
            evidence=evidence,
            prompt=prompt,
            api=api or "",
            started_at=started,
            ended_at=ended,
            served_model=text(output.get("model")),
            usage=usage,
            parameters=parameters_of(body) if api else (),
            generated_text=text(output.get("completion")) or None,
            parent_agent="" if agent == "main" else "main",
            tier=served_tier(mapping(response.get("usage")), response),
            notes=(*notes, *(("error",) if error else ()), *(() if usage else ("usage_missing",))),
        )

    def _prompt(self, body: Mapping[str, Any], api: Api | None, event: Mapping[str, Any]) -> tuple[Evidence, Prompt]:
        """The raw body where it was kept; else Inspect's own messages, which it rewrote before sending."""
        if api is not None:
            return Evidence.EXACT, self.layout.prompt(body, api)
        messages = [*items(event.get("input")), *self._pooled(event)]
        own = {"tools": items(event.get("tools")), "messages": [_plain(mapping(message)) for message in messages]}
        prompt = self.layout.prompt(resolved(own, self.attachments), Api.CHAT)
        return Evidence.RECONSTRUCTED, prompt_of((hidden(label=f"{FORMAT}: what was rewritten"), *prompt.segments()))

    def _pooled(self, event: Mapping[str, Any]) -> list[Any]:
        """Messages that the event names by their range in the sample's pool."""
        found: list[Any] = []
        for bounds in items(event.get("input_refs")):
            if isinstance(bounds, list) and len(bounds) == 2 and all(type(bound) is int for bound in bounds):
                found += self.pool[max(0, bounds[0]) : max(0, bounds[1])]
        return found


def _usage(response: Mapping[str, Any], output: Mapping[str, Any]) -> tuple[Usage | None, tuple[str, ...]]:
    """The provider's own usage object where the log kept it, else Inspect's, whose total tells its convention."""
    usage, notes = read_usage(mapping(response.get("usage")))
    return (usage, notes) if usage else read_usage(mapping(output.get("usage")))


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    return {key: message[key] for key in ("role", "content", "tool_calls", "tool_call_id") if message.get(key)}


def _milliseconds(seconds: Any) -> Any:
    return seconds * 1000 if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None
