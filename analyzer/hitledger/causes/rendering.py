"""Local engines: the messages only grew, the rendered text did not.

What an engine holds after a call is the rendered prompt and what it generated. A template that shows an old turn
differently from how it was generated makes the engine compute that turn again.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from hitledger.causes.case import Case, Confidence, Diagnosis
from hitledger.conversation import chat_messages, tool_list
from hitledger.templates import TemplateError, render
from hitledger.tokens import TokenCounter
from hitledger.types import Call, EngineHint


class Rerender(Struct, frozen=True):
    """Token ids in cache after the earlier call and those of the later prompt, compared."""

    held: int  # tokens in cache: rendered prompt + generated
    common: int  # leading tokens that the later rendered prompt shares with them
    first_differing: str


def compare(before: Call, call: Call, counter: TokenCounter) -> Rerender | None:
    """Render both calls with the log's own template; None where the log has none or it cannot be rendered."""
    hint = call.engine
    if before.prompt_ids and call.prompt_ids:
        held = before.prompt_ids + before.generated_ids
        return Rerender(len(held), _common(held, call.prompt_ids), "")
    if hint is None or hint.chat_template is None or before.generated_text is None:
        return None
    try:
        old, new = render(hint.chat_template, [_variables(before), _variables(call)])
    except TemplateError:
        return None
    held_parts = _pieces(old + before.generated_text, hint, counter)
    new_parts = _pieces(new, hint, counter)
    common = _common(held_parts, new_parts)
    differing = held_parts[common] if common < len(held_parts) else ""
    return Rerender(len(held_parts), common, str(differing) if isinstance(differing, str) else "")


def diagnose(case: Case, rerender: Rerender | None) -> Diagnosis | None:
    """The text was rendered anew, or the same text was tokenized differently."""
    if rerender is None or rerender.common >= rerender.held:
        return None
    if case.before.prompt_ids and case.call.prompt_ids:
        return Diagnosis("tokenizer.bpe_boundary", Confidence.LIKELY, "prompt_token_ids", "", rerender.common)
    place = next((s.path for s in case.prompt.segments()[len(case.prompt_before) :]), "")
    note = f"{rerender.common:,} of {rerender.held:,} tokens in cache come again in the rendered prompt"
    if rerender.first_differing:
        note += f"; the first that does not is {rerender.first_differing}"
    return Diagnosis("template.rerender", Confidence.CERTAIN, place, note)


def _variables(call: Call) -> dict[str, object]:
    options = next((p.value for p in call.parameters if p.name == "thinking"), None)
    variables: dict[str, object] = {"messages": chat_messages(call.prompt), "add_generation_prompt": True}
    tools = tool_list(call.prompt)
    if tools:
        variables["tools"] = tools
    if options in ("true", "false"):
        variables["enable_thinking"] = options == "true"
    return variables


def _pieces(text: str, hint: EngineHint, counter: TokenCounter) -> list[int | str]:
    """Token ids, special tokens as their own text."""
    if not hint.special_tokens:
        return list(counter.ids(text))
    pattern = "(" + "|".join(re.escape(token) for token in hint.special_tokens) + ")"
    special = set(hint.special_tokens)
    pieces: list[int | str] = []
    for part in re.split(pattern, text):
        if part in special:
            pieces.append(part)
        elif part:
            pieces += counter.ids(part)
    return pieces


def _common(old: Sequence[object], new: Sequence[object]) -> int:
    for index, (left, right) in enumerate(zip(old, new, strict=False)):
        if left != right:
            return index
    return min(len(old), len(new))
