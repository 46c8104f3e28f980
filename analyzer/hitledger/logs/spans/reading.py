"""Spans of many files -> calls, each span read by its own instrumentation's dialect, duplicates counted once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from hitledger.logs.captured.dialect import api_of_shape
from hitledger.logs.captured.turns import opens_turn
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.records import numbered
from hitledger.logs.spans import genai, langfuse, mlflow, openinference, vercel
from hitledger.logs.spans.containers import holds_spans, spans_of
from hitledger.logs.spans.emitters import Emitters
from hitledger.logs.spans.request import Request
from hitledger.logs.spans.span import Key, Role, Span
from hitledger.logs.spans.tree import Tree
from hitledger.logs.values import Value, opening, values
from hitledger.parameters import parameters_of, route_of
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden
from hitledger.types import Call, Evidence, Kind, Place, Prompt, Tier, Usage, prompt_of
from hitledger.usage import read_usage, served_tier

PATHS = ("projects/", "arn:", "publishers/", "models/")  # a model's resource name: what stands in front names accounts
LAST = datetime.max.replace(tzinfo=UTC)


class Dialect(Protocol):
    """What an instrumentation's module says of its spans."""

    FORMAT: str

    def wrote(self, span: Span, /) -> bool:
        """Whether the span is of this dialect."""

    def role(self, span: Span, /) -> Role:
        """What the span is."""

    def usage(self, span: Span, /) -> Mapping[str, Any]:
        """The token figures under their own names."""

    def request(self, span: Span, /) -> Request:
        """The call in the span."""


# Spans can carry the attributes of two: the one that says more comes first.
DIALECTS: tuple[Dialect, ...] = (langfuse, vercel, openinference, mlflow, genai)


def claims(file: LogFile, format_name: str) -> bool:
    """Whether the file holds spans and the first instrumentation seen in its head is this one."""
    value = opening(file)
    if not holds_spans(value):
        return False
    for found in spans_of(value):
        dialect = _dialect(found) if isinstance(found, Span) else None
        if dialect:
            return format_name == dialect.FORMAT
    return format_name == genai.FORMAT


@dataclass(slots=True)
class State:
    """What is known of all spans of the input."""

    tree: Tree = field(default_factory=Tree)
    emitters: Emitters = field(default_factory=Emitters)
    layout: Layout = field(default_factory=Layout)
    seen: set[Key] = field(default_factory=set)

    def take_in(self, span: Span, dialect: Dialect | None) -> None:
        """First pass: where a span stands and what its figures prove."""
        role = dialect.role(span) if dialect else Role.OTHER
        self.tree.add(span.key, (span.trace, span.parent), role)
        if dialect and role is Role.CALL:
            self.emitters.add(span, dialect.usage(span))


def read(files: tuple[LogFile, ...], ingest: Ingest, format_name: str) -> Iterator[Call]:
    """All calls, file by file in the order of their start.

    Spans are read twice: once for how they lie in each other, once for what they say.
    """
    state = State()
    for file in files:
        for value in values(file, FileLedger(file.name, format_name)):
            for found in spans_of(value.data):
                if isinstance(found, Span):
                    state.take_in(found, _dialect(found))
    state.tree.settle()
    for file in files:
        ledger = ingest.open(file.name, format_name)
        calls = [call for value in values(file, ledger) for call in _calls(value, ledger, state)]
        yield from sorted(calls, key=lambda call: call.started_at or LAST)


def _dialect(span: Span) -> Dialect | None:
    return next((dialect for dialect in DIALECTS if dialect.wrote(span)), None)


def _calls(value: Value, ledger: FileLedger, state: State) -> Iterator[Call]:
    for row, span in numbered(list(spans_of(value.data)), value.cut, ledger, "span"):
        if isinstance(span, str):
            ledger.skip(row, span)
        elif span.key in state.seen:
            ledger.known("same call" if state.tree.role(span.key) is Role.CALL else "same span")
        else:
            state.seen.add(span.key)
            role = state.tree.role(span.key)
            if role is Role.CALL:
                ledger.call()
                yield call_of(span, _dialect(span) or genai, Place(ledger.file, row), ledger, state)
            else:
                ledger.known(role.value)


def call_of(span: Span, dialect: Dialect, place: Place, ledger: FileLedger, state: State) -> Call:
    """The call of one span; its notes go to the ledger too."""
    request = dialect.request(span)
    api = request.api or api_of_shape(request.body) or Api.CHAT
    prompt, evidence = _prompt(request, api, state.layout)
    usage, notes = _usage(span, request, state.emitters)
    for note in notes:
        ledger.note(note)
    agent, parent = state.tree.agents(span.key)
    lone = state.tree.alone(span.key) and evidence is Evidence.EXACT
    return Call(
        id=request.id or span.id,
        session=request.session or (place.file if lone else span.trace),
        agent=agent,
        parent_agent=parent,
        place=place,
        provider=_provider(request),
        model=request.model.rsplit("/", 1)[-1] if request.model.startswith(PATHS) else request.model,
        served_model=request.served_model,
        evidence=evidence,
        prompt=prompt,
        api=api if len(prompt) else "",
        started_at=span.started_at,
        first_token_at=request.first_token_at,
        ended_at=span.ended_at,
        status=request.status,
        usage=usage,
        parameters=parameters_of(request.body),
        route=route_of(request.body, host=request.host),
        logged_cost=request.cost,
        generated_text=request.generated,
        events=("user_turn",) if opens_turn(request.body, api) else (),
        tier=served_tier(request.usage),
        notes=notes,
    )


def _provider(request: Request) -> str:
    if "/publishers/" in request.model:
        return "vertex"
    return provider_of(request.model, request.provider or request.host)


def _prompt(request: Request, api: Api, layout: Layout) -> tuple[Prompt, Evidence]:
    prompt = layout.prompt(request.body, api)
    if not len(prompt):
        return prompt, Evidence.USAGE_ONLY
    first = next((segment for segment in prompt.segments() if segment.tier is Tier.MESSAGES), None)
    continues = first is not None and first.kind is Kind.TOOL_RESULT  # the server holds what stands before it
    if request.complete and not continues:
        return prompt, Evidence.EXACT
    return prompt_of((hidden(), *prompt.segments())), Evidence.RECONSTRUCTED


def _usage(span: Span, request: Request, emitters: Emitters) -> tuple[Usage | None, tuple[str, ...]]:
    inclusive, assumed = emitters.inclusive(span, request.usage, request.inclusive)
    usage, notes = read_usage(request.usage, inclusive=inclusive)
    if usage is None and not notes and not request.notes and request.status < 400:
        return None, ("usage_missing",)
    return usage, request.notes + (assumed if usage else ()) + notes
