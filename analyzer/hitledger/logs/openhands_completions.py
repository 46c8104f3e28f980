"""OpenHands `llm_completions`: one JSON document per request, with the whole prompt."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from hitledger.logs.fields import dollars, first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.parameters import parameters_of, route_of
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout
from hitledger.types import Call, Evidence, Place
from hitledger.usage import read_usage, served_tier

FORMAT = "openhands-completions"
STAMP = re.compile(r"-\d+(\.\d+)?\.json$")  # how a file's name ends: the time of the response
MAX_LATENCY = 86400  # seconds


def sniff(file: LogFile) -> bool:
    """A document with the messages and the keyword arguments of the completion call."""
    head = mapping(opening(file))
    return isinstance(head.get("messages"), list) and isinstance(head.get("kwargs"), dict)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """One call a file, in the order of their times."""
    layout = Layout()
    calls: list[Call] = []
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            ledger.count_rows()
            document = mapping(value.data)
            if value.cut:
                ledger.skip(value.number, "the file ends inside the record")
            elif not isinstance(document.get("messages"), list):
                ledger.skip(value.number, "a record without messages")
            else:
                ledger.call()
                calls.append(_call(file.name, value.number, document, layout))
    yield from sorted(calls, key=lambda call: (call.ended_at is None, call.ended_at, call.place.file))


def _call(file: str, number: int, document: Mapping[str, Any], layout: Layout) -> Call:
    kwargs, response = mapping(document.get("kwargs")), mapping(document.get("response"))
    body = {**kwargs, "messages": items(document.get("messages"))}  # tools that were only emulated are not in kwargs
    logged = mapping(response.get("usage"))
    usage, notes = read_usage(logged)
    model = first_text(kwargs.get("model"), response.get("model"))
    ended, latency = instant(document.get("timestamp")), _seconds(document.get("latency_sec"))
    return Call(
        id=first_text(response.get("id"), f"{file}:{number}"),
        session=first_text(_session_named(kwargs), STAMP.sub("", file)),
        agent="main",
        place=Place(file, number),
        provider=provider_of(model.removeprefix("litellm_proxy/")),
        model=model,
        evidence=Evidence.EXACT,
        prompt=layout.prompt(body, Api.CHAT),
        api=Api.CHAT,
        started_at=ended - timedelta(seconds=latency or 0) if ended else None,
        ended_at=ended,
        served_model=text(response.get("model")),
        usage=usage,
        parameters=parameters_of(body),
        route=route_of(body, upstream=text(response.get("provider"))),
        logged_cost=dollars(document.get("cost")),
        generated_text=_said(response),
        tier=served_tier(logged, response),
        notes=(*notes, *(("start_estimated",) if latency is None else ()), *(() if usage else ("usage_missing",))),
    )


def _seconds(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_LATENCY
    return float(value) if known else None


def _session_named(kwargs: Mapping[str, Any]) -> str:
    """The conversation, where the metadata sent along name it."""
    metadata = mapping(mapping(kwargs.get("extra_body")).get("metadata"))
    return first_text(metadata.get("session_id"), metadata.get("conversation_id"))


def _said(response: Mapping[str, Any]) -> str | None:
    choices = items(response.get("choices"))
    content = mapping(mapping(choices[0]).get("message")).get("content") if choices else None
    return content if isinstance(content, str) else None
