"""Every span in which two texts differ, not only the first: lines first, then words of lines that were changed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

WORDS = re.compile(r"\s+|\w+|[^\w\s]")
NEAR = 12  # characters; changes this close on one line are one span (a date's day and its hour)
MAX_WORDS = 2000  # of a line; a longer one is one span
MAX_LINES = 3000  # between the ends that are the same; more are one span


@dataclass(frozen=True, slots=True)
class Span:
    """A differing span: where it stands in either text (from, to)."""

    old: tuple[int, int]
    new: tuple[int, int]

    def alone(self, old: str, new: str) -> str:
        """The old text with this span alone as in the new one."""
        return old[: self.old[0]] + new[slice(*self.new)] + old[self.old[1] :]


def differing_spans(old: str, new: str) -> tuple[Span, ...]:
    """All spans, first to last. Equal texts have none."""
    if old == new:
        return ()
    left, right = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts_old, starts_new = _starts(left), _starts(right)
    found: list[Span] = []
    for tag, i1, i2, j1, j2 in _changes(left, right):
        if tag == "replace" and i2 - i1 == j2 - j1 <= MAX_LINES:
            for line in range(i2 - i1):
                one, other = left[i1 + line], right[j1 + line]
                found += _in_line(one, other, starts_old[i1 + line], starts_new[j1 + line])
        else:
            found.append(Span((starts_old[i1], starts_old[i2]), (starts_new[j1], starts_new[j2])))
    return tuple(found)


def _changes(left: list[str], right: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """What `difflib` calls opcodes, without the equal ones; common ends are cut off first."""
    start, end = 0, 0
    shorter = min(len(left), len(right))
    while start < shorter and left[start] == right[start]:
        start += 1
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    one, other = left[start : len(left) - end], right[start : len(right) - end]
    if max(len(one), len(other)) > MAX_LINES:
        yield "replace", start, start + len(one), start, start + len(other)
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield tag, start + i1, start + i2, start + j1, start + j2


def _starts(lines: list[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def _in_line(old: str, new: str, at_old: int, at_new: int) -> Iterator[Span]:
    left, right = WORDS.findall(old), WORDS.findall(new)
    if max(len(left), len(right)) > MAX_WORDS:
        yield Span((at_old, at_old + len(old)), (at_new, at_new + len(new)))
        return
    starts_old, starts_new = _starts(left), _starts(right)
    current: Span | None = None
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        old_part = (at_old + starts_old[i1], at_old + starts_old[i2])
        new_part = (at_new + starts_new[j1], at_new + starts_new[j2])
        if current is not None and old_part[0] - current.old[1] <= NEAR:
            current = Span((current.old[0], old_part[1]), (current.new[0], new_part[1]))
            continue
        if current is not None:
            yield current
        current = Span(old_part, new_part)
    if current is not None:
        yield current
