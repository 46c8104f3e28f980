"""Calls as the text a chat template makes of them. Templates come from logs and models: rendered in the sandbox only."""

from collections.abc import Mapping, Sequence
from typing import Any

from hitledger.conversation import chat_messages, tool_list
from hitledger.templates import TemplateError, render
from hitledger.types import Call, Kind
from hitledger_replay.errors import ReplayError


def rendered_texts(calls: Sequence[tuple[Call, str]], special_tokens: Mapping[str, str]) -> list[str]:
    """The text of each call under its template; calls of one template share one sandbox process.

    Raises ReplayError naming the first call of a template that fails.
    """
    groups: dict[str, list[int]] = {}
    for number, (_, template) in enumerate(calls):
        groups.setdefault(template, []).append(number)
    texts = [""] * len(calls)
    for template, numbers in groups.items():
        conversations = [_variables(calls[number][0], template, special_tokens) for number in numbers]
        try:
            found = render(template, conversations)
        except TemplateError as error:
            raise ReplayError(f"call {calls[numbers[0]][0].id}: {error}; use --render text") from error
        for number, text in zip(numbers, found, strict=True):
            texts[number] = text
    return texts


def _variables(call: Call, template: str, special_tokens: Mapping[str, str]) -> dict[str, Any]:
    messages, tools = chat_messages(call.prompt), tool_list(call.prompt)
    if tools and "tools" not in template:
        messages = _with_tools_as_text(messages, call)
    return {**special_tokens, "messages": messages, "tools": tools or None, "add_generation_prompt": True}


def _with_tools_as_text(messages: list[dict[str, Any]], call: Call) -> list[dict[str, Any]]:
    """A template that knows no tools would drop them: their definitions go in front of the system text."""
    text = "\n".join(s.text for s in call.prompt.segments() if s.kind is Kind.TOOL and s.text)
    if messages and messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{text}\n{messages[0]['content']}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
