"""OpenAI Responses events as one response."""

from collections.abc import Iterable, Mapping
from typing import Any

_LAST = frozenset({"response.completed", "response.incomplete", "response.failed", "response.done"})


def speaks(event: Mapping[str, Any]) -> bool:
    """Whether the event is of this API."""
    return str(event.get("type", "")).startswith("response.")


def fold(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], bool]:
    """The response that the last event holds, and whether it was the closing one.

    A stream that was cut has the response of its opening event, without usage, and the items that were done.
    """
    body: dict[str, Any] = {"object": "response"}
    items: list[Any] = []
    texts: list[str] = []
    closed = False
    for event in events:
        kind = event.get("type")
        response = event.get("response")
        if isinstance(response, Mapping):
            body |= response
        if kind == "response.output_item.done" and isinstance(event.get("item"), Mapping):
            items.append(event["item"])
            texts = []
        elif kind == "response.output_text.delta" and isinstance(event.get("delta"), str):
            texts.append(event["delta"])
        elif kind == "error":
            body["error"] = event.get("error") or {"message": event.get("message"), "code": event.get("code")}
        closed = closed or str(kind) in _LAST
    if not body.get("output"):
        if texts:
            items.append({"type": "message", "content": [{"type": "output_text", "text": "".join(texts)}]})
        body["output"] = items
    return body, closed
