"""Where OpenAI's cache from GPT-5.6 on looks and writes: ends of eligible messages, and explicit breakpoints.

Source: OpenAI, prompt caching guide of September 2026.
"""

from collections.abc import Iterator
from itertools import islice

from hitledger.policies.rule import Rule
from hitledger.policies.view import Mark, View
from hitledger.types import Call, Kind, Prompt, Tier

FIRST_EXPLICIT, LATEST_EXPLICIT = 2, 50  # explicit breakpoints that a lookup considers


def reach(view: View) -> Iterator[int]:
    """Positions of a lookup, longest first.

    Explicit marks (first 2, latest 50), up to 20 earlier eligible ends, and the end of the developer messages in front.
    """
    explicit = [mark.position for mark in view.marks]
    found = set(explicit[:FIRST_EXPLICIT] + explicit[-LATEST_EXPLICIT:])
    if implicit_allowed(view.call):
        if view.prompt.base is not None:  # each call of a transcript ends with a user message or a tool result
            found |= {end for end, _ in islice(view.ends(), view.rule.lookback + 1)} | {view.root.length}
        else:
            ends = eligible_ends(view.prompt)
            head = ends[:1] if ends and view.segment(ends[0] - 1).tier is not Tier.MESSAGES else ()
            found |= {*ends[-view.rule.lookback - 1 :], *head}
    yield from sorted(found, reverse=True)


def written(call: Call, prompt: Prompt, rule: Rule, explicit: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """Explicit marks and, if it is on, the implicit one at the last eligible end; at most the rule's number."""
    marks = list(explicit)
    if implicit_allowed(call):
        ends = [prompt.length] if prompt.base is not None else eligible_ends(prompt)
        if ends and ends[-1] not in {mark.position for mark in marks}:
            marks.append(Mark(ends[-1], rule.default_lifetime))
    return tuple(sorted(marks, key=lambda mark: mark.position)[-rule.max_breakpoints :])


def back_to(view: View, position: int) -> int:
    """How many eligible ends back a position lies, the last end counted as the first."""
    ends = [end for end, _ in view.ends()] if view.prompt.base is not None else eligible_ends(view.prompt)
    return sum(end >= position for end in ends)


def implicit_allowed(call: Call) -> bool:
    """Whether the request leaves the implicit breakpoint on (`mode: "explicit"` turns it off)."""
    options = next((p.value for p in call.parameters if p.name == "cache_retention"), "")
    return '"mode":"explicit"' not in options


def eligible_ends(prompt: Prompt) -> list[int]:
    """Ends of eligible messages: user messages, the last tool result of a run, the last developer message in front."""
    ends: list[int] = []
    segments = prompt.segments()
    for index, segment in enumerate(segments):
        following = segments[index + 1] if index + 1 < len(segments) else None
        if following is not None and not following.opens_message and following.tier is segment.tier:
            continue
        is_head = segment.tier is not Tier.MESSAGES and (following is None or following.tier is Tier.MESSAGES)
        is_user = segment.tier is Tier.MESSAGES and segment.role == "user"
        is_result = segment.kind is Kind.TOOL_RESULT and (following is None or following.kind is not Kind.TOOL_RESULT)
        if is_head or is_user or is_result:
            ends.append(index + 1)
    return ends
