"""Gemini streamGenerateContent chunks as one response."""

from collections.abc import Iterable, Mapping
from typing import Any


def speaks(event: Mapping[str, Any]) -> bool:
    """Whether the event is of this API."""
    return isinstance(event.get("candidates"), list) or "usageMetadata" in event


def fold(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], bool]:
    """The response with the parts of all chunks, and whether a finish reason was seen. Usage is that of the last."""
    body: dict[str, Any] = {}
    parts: list[Any] = []
    finished = False
    for event in events:
        for key in ("usageMetadata", "modelVersion", "responseId", "error"):
            if event.get(key) is not None:
                body[key] = event[key]
        candidates = event.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        if not isinstance(first, Mapping):
            continue
        content = first.get("content")
        if isinstance(content, Mapping) and isinstance(content.get("parts"), list):
            parts += content["parts"]
        finished = finished or bool(first.get("finishReason"))
    body["candidates"] = [{"content": {"role": "model", "parts": parts}}]
    return body, finished
