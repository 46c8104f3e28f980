"""A streamed response folded into the body that the same call would have given without streaming.

Knows the event streams of Anthropic Messages, OpenAI Chat Completions, OpenAI Responses and Gemini. A damaged event
is left out and counted; a stream that was cut keeps what came, and what only its end would have said stays unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hitledger.logs.captured.streams import chat, gemini, messages, responses

END = "[DONE]"


@dataclass(frozen=True, slots=True)
class Stream:
    """What a stream came to."""

    body: dict[str, Any]  # in the shape of a response that was not streamed
    complete: bool  # its closing event was there
    damaged: int  # events that are not JSON objects


def looks_streamed(text: str) -> bool:
    """Whether a response text is an event stream."""
    return text.lstrip("\ufeff \r\n").startswith(("event:", "data:", "id:", ":"))


def fold_text(text: str) -> Stream | None:
    """The events of a stream's text, None where it holds none that we know."""
    payloads = list(_payloads(text))
    events = [event for payload in payloads if (event := _parsed(payload)) is not None]
    damaged = sum(payload.strip() != END for payload in payloads) - len(events)
    return fold_events(events, damaged, any(payload.strip() == END for payload in payloads))


def fold_events(events: Iterable[Any], damaged: int = 0, ended: bool = False) -> Stream | None:
    """Parsed events of one response. `ended`: the closing `[DONE]` was there."""
    known = [event for event in events if isinstance(event, Mapping)]
    unwrapped = [_inner(event) for event in known]
    for dialect in (messages, responses, chat, gemini):
        if any(dialect.speaks(event) for event in unwrapped):
            body, complete = dialect.fold(unwrapped)
            return Stream(body, complete or ended, damaged)
    return None


def _inner(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Some logs keep an event as `{event, data: {…}}`; Gemini's Code Assist as `{response: {…}, traceId}`."""
    data = event.get("data")
    if isinstance(data, Mapping) and "event" in event:
        return data
    response = event.get("response")
    if isinstance(response, Mapping) and "candidates" in response:
        return response
    return event


def _payloads(text: str) -> Iterator[str]:
    """The data of each event; several data lines are one payload."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line.strip() and lines:
            yield "\n".join(lines)
            lines = []
        elif lines and not line.startswith(("event:", "id:", "retry:", ":")):
            lines.append(line)  # a log that broke a long line keeps the event damaged, not the next one
    if lines:
        yield "\n".join(lines)


def _parsed(payload: str) -> Mapping[str, Any] | None:
    try:
        event = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None
