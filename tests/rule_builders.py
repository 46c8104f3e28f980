"""Calls, counters and rules for tests of the cache rules: one word is one token, so that every figure is by hand."""

from collections.abc import Sequence
from typing import Any

import msgspec

from call_builders import call
from hitledger.expect import Expectation, Forecaster
from hitledger.policies.rule import Rule
from hitledger.policies.rules import Rules, shipped
from hitledger.positions import Positions
from hitledger.segments import Api, Layout
from hitledger.types import Call, Evidence, Kind, Place, Segment


class WordCounter:
    """A token a word; a token id is a token."""

    def count(self, segment: Segment, model: str) -> int:
        """Words of the segment's text."""
        text = segment.text or ""
        return text.count(",") + 1 if segment.kind is Kind.TOKENS else len(text.split())


def words(number: int, name: str = "w") -> str:
    """A text of so many words."""
    return " ".join([name] * number)


def rule_named(identifier: str, **changes: Any) -> Rules:
    """One shipped rule alone, with changes."""
    (found,) = (rule for rule in shipped().all if rule.id == identifier)
    return Rules((msgspec.structs.replace(found, **changes),))


def rule_of(identifier: str) -> Rule:
    """One shipped rule."""
    return rule_named(identifier).all[0]


def expected(calls: Sequence[Call], rules: Rules | None = None) -> list[Expectation | None]:
    """What the rules say of the calls, in order."""
    return Forecaster(rules or shipped(), Positions(WordCounter())).all(calls)


def reads(calls: Sequence[Call], rules: Rules | None = None) -> list[int | None]:
    """Expected reads in tokens; None where there is no rule."""
    return [None if one is None else one.forecast.read for one in expected(calls, rules)]


def blocks(*marked: tuple[int, str], number: int, size: int = 100, model: str = "claude-opus-5") -> dict[str, Any]:
    """One user message of text blocks of `size` words, marks behind the blocks named (from 1) with their lifetimes."""
    content: list[dict[str, Any]] = [{"type": "text", "text": words(size, f"b{i}")} for i in range(number)]
    for position, ttl in marked:
        content[position - 1]["cache_control"] = {"type": "ephemeral", "ttl": ttl}
    return {"model": model, "messages": [{"role": "user", "content": content}]}


def chat(number: int, *texts: str, provider: str, model: str, system: str = "", **extra: Any) -> Call:
    """A Chat Completions call; texts alternate between user and assistant."""
    turns = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    head = [{"role": "system", "content": system}] if system else []
    body = {"model": model, "messages": [*head, *turns], **extra}
    return call(body, number, api=Api.CHAT, provider=provider)


def ids(number: int, tokens: Sequence[int], provider: str, layout: Layout) -> Call:
    """A call of exact token ids to an engine."""
    return Call(
        id=f"c{number}",
        session="s",
        agent="main",
        place=Place("test.jsonl", number + 1),
        provider=provider,
        model="m",
        evidence=Evidence.EXACT,
        prompt=layout.token_ids(tokens),
    )
