"""OpenAI Chat Completions chunks as one completion."""

from collections.abc import Iterable, Mapping
from typing import Any


def speaks(event: Mapping[str, Any]) -> bool:
    """Whether the event is of this API; usage can come in a chunk without choices."""
    return event.get("object") == "chat.completion.chunk" or isinstance(event.get("choices"), list)


def fold(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], bool]:
    """The completion with the text of its first choice, and whether that choice was finished.

    The usage object counts where it stands last: some servers repeat a running one on every chunk.
    """
    body: dict[str, Any] = {"object": "chat.completion"}
    texts: list[str] = []
    reasoning: list[str] = []
    finished = False
    for event in events:
        for key in ("id", "model", "provider", "service_tier", "system_fingerprint", "created", "error"):
            if event.get(key) is not None:
                body[key] = event[key]
        choice = _first_choice(event)
        usage = event.get("usage") or choice.get("usage")  # Moonshot puts it into the choice
        if isinstance(usage, Mapping):
            body["usage"] = usage
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            texts.append(_text(delta.get("content")))
            reasoning.append(_text(delta.get("reasoning_content") or delta.get("reasoning")))
        finished = finished or choice.get("finish_reason") is not None
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts)}
    if any(reasoning):
        message["reasoning_content"] = "".join(reasoning)
    body["choices"] = [{"index": 0, "message": message}]
    return body, finished


def _first_choice(event: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) and first.get("index", 0) == 0 else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
