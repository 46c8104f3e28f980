"""How many tokens stand before each position of a prompt: counted, then scaled to what the log reports."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from hitledger.policies.view import Mark
from hitledger.types import Call, Certainty, Evidence, Kind, Prompt, Segment

CHARS_PER_TOKEN = 4.0  # a transcript's segments keep no text; only proportions of this matter once totals are logged


class Counter(Protocol):
    """Counts tokens of segments."""

    def count(self, segment: Segment, model: str) -> int:
        """Tokens of one segment."""


class Positions:
    """Token positions of the prompts of one run.

    A full prompt is counted segment by segment and stretched between what the log says exactly: the last written
    mark stands at read + written tokens, the end at the whole input. A transcript's positions are the logged totals
    of the calls whose prompts it extends; between two of them lengths in characters decide.
    """

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self._logged = Logged()
        self._first: dict[Prompt, Prompt] = {}  # transcripts: the first logged one that it goes on, or the first

    def of(self, call: Call, prompt: Prompt, marks: Sequence[Mark]) -> Callable[[int], int]:
        """Tokens of the first so many segments of the call's prompt (in the rule's order)."""
        if call.evidence is Evidence.RECONSTRUCTED:
            if call.usage is not None and not call.usage.read_accumulated:
                self._logged.add(prompt, call.usage.input_tokens)
            node = prompt.base
            while node is not None and node not in self._first:
                node = node.base
            first = self._first[node] if node is not None else prompt
            if first not in self._logged.ends and prompt in self._logged.ends:
                first = prompt
            self._first[prompt] = first
            return TranscriptPositions(self._logged, prompt, first)
        raw = [0]
        for segment in prompt.segments():
            raw.append(raw[-1] + self.counter.count(segment, call.model))
        return _stretched(raw, anchors(call, raw, marks))


class Stretch(NamedTuple):
    """What stands between the last prompt with a logged length and the end of one without."""

    length: int = 0  # segments of the logged prompt
    tokens: int = 0  # and its tokens
    chars: int = 0  # behind it


class Logged:
    """Logged lengths of the prompts of calls of transcripts, and what was added since to those without one."""

    def __init__(self) -> None:
        self.ends: dict[Prompt, int] = {}
        self._stretches: dict[Prompt, Stretch] = {}  # where no call was counted, each prompt is one of many

    def add(self, prompt: Prompt, tokens: int) -> None:
        """The length of one more prompt, which others can extend."""
        self.ends[prompt] = tokens
        self._stretches.clear()

    def before(self, prompt: Prompt) -> Stretch:
        """The stretch that ends with a prompt. Each prompt is walked once, not for every one that extends it."""
        passed: list[Prompt] = []
        node: Prompt | None = prompt
        while node is not None and node not in self._stretches and node not in self.ends:
            passed.append(node)
            node = node.base
        found = Stretch()
        if node is not None:
            found = self._stretches.get(node) or Stretch(node.length, self.ends[node])
        for node in reversed(passed):
            found = found._replace(chars=found.chars + sum(s.chars for s in node.own if s.kind is not Kind.HIDDEN))
            self._stretches[node] = found
        return found


class TranscriptPositions(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Token positions of one prompt of a transcript."""

    logged: Logged
    prompt: Prompt
    first: Prompt  # the first one with a logged length that it goes on; where there is none, the first

    def __call__(self, position: int) -> int:
        """Tokens of the first so many segments."""
        if position <= 0:
            return 0
        prompt, ends = self.prompt, self.logged.ends
        first = self.first
        if position <= first.length and (first in ends or not self.logged.before(prompt).length):
            prompt = first  # what comes behind it does not count
        upper: tuple[int, int] | None = None  # (position, tokens) at or behind the one asked for
        lower = (0, 0)
        node: Prompt | None = prompt
        while node is not None:
            tokens = ends.get(node)
            if tokens is not None:
                if node.length < position:
                    lower = (node.length, tokens)
                    break
                if node.length == position and (node.base is None or node.base.length < position):
                    return tokens
                upper = (node.length, tokens)
            elif upper is None and node.length < position:
                known = self.logged.before(node)
                return known.tokens + _tokens(known.chars + _characters(prompt, node.length, position))
            node = node.base
        if upper is None:
            return lower[1] + _tokens(_characters(prompt, lower[0], position))
        if upper[0] == position:
            return upper[1]
        return _between(prompt, lower, upper, position)


def _between(prompt: Prompt, lower: tuple[int, int], upper: tuple[int, int], position: int) -> int:
    if lower[0] == 0:  # the hidden part takes what the visible part does not
        return min(upper[1], max(0, upper[1] - _tokens(_characters(prompt, position, upper[0]))))
    inner = _tokens(_characters(prompt, lower[0], position))
    whole = _tokens(_characters(prompt, lower[0], upper[0]))
    return lower[1] + ((upper[1] - lower[1]) * inner // whole if whole else 0)


def _characters(prompt: Prompt, start: int, end: int) -> int:
    """Characters of the segments from `start` to `end`, the hidden ones left out."""
    chars = 0
    for node in prompt.lineage():
        first = node.base.length if node.base is not None else 0
        if node.length <= start:
            break
        if first >= end:
            continue
        for offset, segment in enumerate(node.own, first):
            if start <= offset < end and segment.kind is not Kind.HIDDEN:
                chars += segment.chars
    return chars


def _tokens(chars: int) -> int:
    return int(chars / CHARS_PER_TOKEN)


def anchors(call: Call, raw: Sequence[int], marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Positions whose tokens the log gives: (position, tokens), ascending."""
    usage = call.usage
    if usage is None or usage.read_accumulated:
        return []
    found: list[tuple[int, int]] = []
    marked = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    if marks and usage.cache_writes is not None and 0 < marked <= usage.input_tokens:
        found.append((marks[-1].position, marked))
    end = len(raw) - 1
    if not found or found[-1][0] < end:
        found.append((end, usage.input_tokens))
    return found


def _stretched(raw: Sequence[int], fixed: Sequence[tuple[int, int]]) -> Callable[[int], int]:
    if not fixed:
        return lambda position: raw[position]
    places = [0, *(place for place, _ in fixed)]
    tokens = [0, *(count for _, count in fixed)]

    def at(position: int) -> int:
        part = min(bisect_right(places, position), len(places) - 1)
        low, high = places[part - 1], places[part]
        width = raw[high] - raw[low]
        share = (raw[position] - raw[low]) / width if width else float(position >= high)
        return tokens[part - 1] + round((tokens[part] - tokens[part - 1]) * min(share, 1.0))

    return at


def inside_a_prompt(logged: bool) -> Certainty:
    """What kind of number a position inside a prompt is, whose length is logged or not."""
    return Certainty.CALIBRATED if logged else Certainty.ESTIMATED
