"""Caches with entries at marked ends: Anthropic's breakpoints and OpenAI's message ends.

They differ in where a request looks and where it writes; entries, lifetimes and look-back are the same.
"""

from collections.abc import Iterator
from datetime import datetime

from hitledger.policies.cache import (
    Blocked,
    Entry,
    Forecast,
    Obstacle,
    age,
    alive,
    touch,
    used_at,
    visible,
    visible_from,
)
from hitledger.policies.rule import Algorithm
from hitledger.policies.view import EntryKey, Mark, View
from hitledger.types import Kind, Tier

FIRST_EXPLICIT, LATEST_EXPLICIT = 2, 50  # explicit breakpoints that an OpenAI lookup considers
RUN_KINDS = (Kind.TOOL_USE, Kind.TOOL_RESULT)


class MarkedCache:
    """Entries at marks. A request reads the longest entry within reach and writes one entry a mark."""

    def __init__(self) -> None:
        self._entries: dict[tuple[bytes, str], Entry] = {}

    def forecast(self, view: View, now: datetime | None) -> Forecast:
        """The longest entry that a mark finds; writes at the marks behind it, longer lifetimes first."""
        for position, key in _looked_at(view):
            entry = self._entries.get(key)
            if entry is not None and alive(entry, view.rule, now) and visible(entry, now):
                writes = _writes(view, entry.tokens)
                return Forecast(entry.tokens, entry.source, position, entry.exact, writes, entry)
        return Forecast(0, None, 0, True, _writes(view, 0))

    def blocked(self, view: View, now: datetime | None, read: int) -> Blocked | None:
        """Look at every position, near or far, for an entry that lies beyond `read` tokens."""
        reach = {position for position, _ in _looked_at(view)}
        for position, key in view.ends():
            entry = self._entries.get(key)
            if entry is None or entry.tokens <= read:
                continue
            if not alive(entry, view.rule, now):
                idle = age(entry, now)
                return Blocked(Obstacle.EXPIRED, entry.source, entry.tokens, idle, view.rule.seconds(entry.ttl))
            if not visible(entry, now):
                return Blocked(Obstacle.NOT_YET_VISIBLE, entry.source, entry.tokens)
            if position not in reach and view.marks and position < view.marks[-1].position:
                back = view.marks[-1].position - position + 1 if view.marks else None
                return Blocked(Obstacle.BEYOND_LOOKBACK, entry.source, entry.tokens, positions_back=back)
        return None

    def store(self, view: View, index: int, forecast: Forecast) -> int:
        """Write an entry at each written mark and refresh what was read; returns the longest entry left."""
        now, seen_from = used_at(view), visible_from(view)
        last = forecast.entry
        if view.rule.refreshed_by_read:
            touch(last, now)
        marks = written_marks(view)
        minimum = view.minimum
        left = forecast.read
        for mark in marks:
            key = view.key(mark.position)
            entry = self._entries.get(key)
            if entry is None or not alive(entry, view.rule, view.call.started_at):
                tokens, exact = _entry_tokens(view, mark, mark is marks[-1])
                if not tokens or tokens < minimum:
                    continue
                entry = self._entries[key] = Entry(tokens, mark.ttl, now, seen_from, index, exact, last)
            else:
                entry.used, entry.ttl = now, mark.ttl
            left = max(left, entry.tokens)
            if mark.position > forecast.position:
                last = entry
        return left


def _looked_at(view: View) -> Iterator[tuple[int, EntryKey]]:
    """Positions where an entry may be found, with their keys, longest first."""
    if view.rule.algorithm is Algorithm.MESSAGE_ENDS:
        yield from ((position, view.key(position)) for position in _message_end_reach(view))
    elif view.prompt.base is not None and not view.rule.collapse_runs:
        yield from _transcript_reach(view)
    else:
        for mark in reversed(view.marks):
            yield from ((position, view.key(position)) for position in _back_from(view, mark.position))


def _transcript_reach(view: View) -> Iterator[tuple[int, EntryKey]]:
    """A transcript has entries at the ends of its calls' prompts only, and at the mark on its hidden head."""
    nearest = view.length - view.rule.lookback
    for position, key in view.ends():
        if position <= nearest:
            break
        yield position, key
    yield from ((mark.position, view.key(mark.position)) for mark in view.marks[-2::-1])


def _back_from(view: View, position: int) -> Iterator[int]:
    """A mark and the positions before it, `lookback` in all; a run of one kind can count as one position."""
    left = view.rule.lookback
    previous: Kind | None = None
    while position > 0:
        kind = view.segment(position - 1).kind if view.rule.collapse_runs else None
        in_run = kind in RUN_KINDS and kind is previous
        if not in_run:
            if left == 0:
                return
            left -= 1
        yield position
        previous = kind
        position -= 1


def _message_end_reach(view: View) -> Iterator[int]:
    """OpenAI from GPT-5.6 on: explicit marks (first 2, latest 50) and up to 20 eligible message ends."""
    explicit = [mark.position for mark in view.marks]
    reach = set(explicit[:FIRST_EXPLICIT] + explicit[-LATEST_EXPLICIT:])
    if implicit_allowed(view):
        ends = eligible_ends(view)
        reach |= set(ends[-view.rule.lookback - 1 :]) | set(ends[:1])
    yield from sorted(reach, reverse=True)


def implicit_allowed(view: View) -> bool:
    """Whether the request leaves the implicit breakpoint on (`mode: "explicit"` turns it off)."""
    options = next((p.value for p in view.call.parameters if p.name == "cache_retention"), "")
    return '"mode":"explicit"' not in options


def eligible_ends(view: View) -> list[int]:
    """Ends of eligible messages: user messages, the last tool result of a run, the last developer message in front."""
    if view.prompt.base is not None:  # each call of a transcript ends with a user message or a tool result
        return sorted(end for end, _ in view.ends())
    ends: list[int] = []
    segments = view.prompt.segments()
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


def written_marks(view: View) -> tuple[Mark, ...]:
    """Where the request writes, first to last."""
    if view.rule.algorithm is not Algorithm.MESSAGE_ENDS:
        return view.marks
    marks = list(view.marks)
    if implicit_allowed(view):
        ends = eligible_ends(view)
        if ends and ends[-1] not in {mark.position for mark in marks}:
            marks.append(Mark(ends[-1], view.rule.default_lifetime))
    return tuple(sorted(marks, key=lambda mark: mark.position)[-view.rule.max_breakpoints :])


def _entry_tokens(view: View, mark: Mark, last: bool) -> tuple[int, bool]:
    """Length of the entry at a mark, and whether it is logged: read + write says it for the last one."""
    usage = view.call.usage
    if last and usage is not None and usage.cache_read_tokens is not None and not usage.read_accumulated:
        reported = usage.cache_read_tokens + (usage.cache_write_tokens or 0)
        if reported:
            return reported, True
    return view.tokens_at(mark.position), False


def _writes(view: View, read: int) -> tuple[tuple[str, int], ...]:
    """Mixed lifetimes are billed as 1h: B - A, 5m: C - B (A read, B the last long mark beyond it, C the last mark).

    Source: Anthropic, prompt caching, "mixing different TTLs".
    """
    minimum = view.minimum
    marks = written_marks(view)
    if len({mark.ttl for mark in marks}) == 1:
        end = view.tokens_at(marks[-1].position)
        return ((marks[-1].ttl, end - read),) if end >= minimum and end > read else ()
    written: list[tuple[str, int]] = []
    start = read
    longest_first = sorted({mark.ttl for mark in marks}, key=lambda ttl: -(view.rule.seconds(ttl) or 0))
    for ttl in longest_first:
        ends = [view.tokens_at(mark.position) for mark in marks if mark.ttl == ttl]
        end = max((tokens for tokens in ends if tokens >= minimum), default=0)
        if end > start:
            written.append((ttl, end - start))
            start = end
    return tuple(written)
