"""Which answer belongs to which request, where no log says so: a later request of the conversation quotes both."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from hitledger.logs.captured.answers import text_of
from hitledger.logs.fields import items, mapping, text
from hitledger.types import Prompt, Tier


@dataclass(frozen=True, slots=True)
class Asked:
    """A request under the name of its file."""

    name: str
    body: Mapping[str, Any]
    prompt: Prompt


def join_answers(asked: list[Asked], answers: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Name of the answer by name of the request.

    A request whose messages are M, and a later one whose messages begin with M and an assistant message A: the
    answer with the content A is the first one's. What is left is joined where one request and one answer of a model
    are left.
    """
    by_messages: dict[bytes, list[Asked]] = defaultdict(list)
    for request in asked:
        by_messages[_ends(request)[-1][0]].append(request)
    by_content = {key: name for name, body in answers.items() if (key := _content_key(items(body.get("content"))))}
    joined: dict[str, str] = {}
    taken: set[str] = set()
    for later in asked:
        for prefix, content in _ends(later):
            answer = by_content.get(_content_key(content) or "") if content else None
            if answer is None or answer in taken:
                continue
            earlier = next((request for request in by_messages.get(prefix, ()) if request.name not in joined), None)
            if earlier is not None and earlier is not later:
                joined[earlier.name] = answer
                taken.add(answer)
    _join_the_last(asked, answers, joined, taken)
    return joined


def _join_the_last(
    asked: list[Asked], answers: Mapping[str, Mapping[str, Any]], joined: dict[str, str], taken: set[str]
) -> None:
    for model in sorted({text(request.body.get("model")) for request in asked}):
        open_requests = [r.name for r in asked if r.name not in joined and text(r.body.get("model")) == model]
        open_answers = [
            name
            for name, body in answers.items()
            if name not in taken and model and text(body.get("model")).startswith(model)
        ]
        if len(open_requests) == len(open_answers) == 1:
            joined[open_requests[0]] = open_answers[0]
            taken.add(open_answers[0])


def _ends(request: Asked) -> list[tuple[bytes, list[Any]]]:
    """For each assistant message, a print of the messages before it and its content; last, the print of all."""
    digests: dict[int, list[bytes]] = defaultdict(list)
    for segment in request.prompt.segments():
        if segment.tier is Tier.MESSAGES:
            digests[_message_index(segment.path)].append(segment.digest)
    ends: list[tuple[bytes, list[Any]]] = []
    running = blake2b(digest_size=16)
    for index, message in enumerate(items(request.body.get("messages"))):
        if mapping(message).get("role") == "assistant":
            content = message.get("content")
            ends.append((running.digest(), content if isinstance(content, list) else [{"text": content}]))
        for digest in digests.get(index, ()):
            running.update(digest)
    return [*ends, (running.digest(), [])]


def _message_index(path: str) -> int:
    """`messages[12].content[0]` -> 12."""
    number = path.removeprefix("messages[").partition("]")[0]
    return int(number) if number.isdecimal() else -1


def _content_key(content: list[Any]) -> str:
    """What tells an answer from others: the id of its first tool call, else its text; "" where it has neither."""
    for block in content:
        if mapping(block).get("type") == "tool_use" and mapping(block).get("id"):
            return f"id:{block['id']}"
    return text_of({"type": "message", "role": "assistant", "content": content}) or ""
