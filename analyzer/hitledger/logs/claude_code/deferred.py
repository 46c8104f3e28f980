"""Prompts whose segments are cut when they are first asked for.

Most calls of a transcript need no look at their text: usage alone says that nothing broke. So a prompt remembers where
its rows stand in the file and reads them again when a break has to be explained. What cannot be read twice (standard
input, a compressed file) is cut at once.
"""

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from struct import Struct
from typing import Any

from hitledger.errors import HitledgerError
from hitledger.logs.claude_code.blocks import cut, reminder
from hitledger.logs.claude_code.row import Entry
from hitledger.logs.claude_code.whole import whole_row
from hitledger.types import Kind, Prompt, Segment

Part = bytes  # a piece of a prompt, packed: a large tree has 170,000 of them
# Number of the first row from 1, its first byte, how many bytes, rows, segments, thinking segments, whether they open a
# message. No rows: a segment that was cut already, and in the place of the first byte where it stands among those.
PART = Struct("<QQQLLL?")
O_BINARY: int = getattr(os, "O_BINARY", 0)  # else Windows changes line ends


def segments_of_row(row: Any, number: int, opens_message: bool) -> list[Segment]:
    """What a row puts into the prompt."""
    path = f"[{number - 1}]"
    kind = row.get("type")
    if kind == "attachment":
        return [reminder(row["attachment"], f"{path}.attachment", opens_message)]
    role = "user" if kind == "user" else "assistant"
    return cut(row["message"].get("content"), role, f"{path}.message.content", opens_message)


class _PartRead:
    """Rows of a part that was read again, cut as far as they are asked for, in their order."""

    __slots__ = ("cut", "lines", "number", "opens")

    def __init__(self, lines: list[bytes], number: int, opens: bool) -> None:
        self.lines = lines
        self.number = number
        self.opens = opens
        self.cut: list[list[Segment]] = []

    def segments_of(self, row: int) -> list[Segment]:
        """The segments of one row."""
        if row == len(self.cut):
            whole = whole_row(self.lines[row])
            self.cut.append(segments_of_row(whole, self.number + row, self.opens and not row))
        return self.cut[row]


@lru_cache(maxsize=1)
def _part_read(of: "Rows", number: int, place: int, size: int, rows: int, opens: bool) -> _PartRead:
    """Two prompts that part here ask for the same rows, one after the other."""
    if of.path is None:
        raise ValueError("rows that cannot be read again")
    lines = _read_at(of.path, place, size).split(b"\n", rows - 1)
    if len(lines) != rows:
        raise ValueError(f"{len(lines)} rows instead of {rows}")
    return _PartRead(lines, number, opens)


def _read_at(path: Path, place: int, size: int) -> bytes:
    file = os.open(path, os.O_RDONLY | O_BINARY)
    try:
        os.lseek(file, place, os.SEEK_SET)
        return os.read(file, size)
    finally:
        os.close(file)


class Rows:
    """A transcript that can be read again at any place; one without a path can be read only once."""

    __slots__ = ("name", "path", "segments")

    def __init__(self, path: Path | None, name: str) -> None:
        self.path = path
        self.name = name
        self.segments: list[Segment] = []  # those that were cut already

    def parts(self, entries: Sequence[Entry], opens: bool, count: int, thinking: int) -> list[Part]:
        """What rows that follow each other put into the prompt: so many segments, thinking among them."""
        if self.path is not None:
            number, _, _, start = entries[0]
            _, _, line, last = entries[-1]
            return [PART.pack(number, start, last + len(line) - start, len(entries), count, thinking, opens)]
        found = []
        for index, (number, _, line, _) in enumerate(entries):
            segments = segments_of_row(whole_row(line), number, opens and not index)
            found += [self.part_of(segment) for segment in segments]
        return found

    def part_of(self, segment: Segment) -> Part:
        """A segment as a part."""
        self.segments.append(segment)
        is_thinking = segment.kind is Kind.THINKING
        return PART.pack(0, len(self.segments) - 1, 0, 0, 1, is_thinking, segment.opens_message)

    def cut(self, packed: bytes) -> Iterator[Segment]:
        """Parts as segments; a row is read again when it is asked for.

        Raises HitledgerError where the file is not what it was.
        """
        if self.path is None:
            yield from (self.segments[place] for _, place, *_ in PART.iter_unpack(packed))
            return
        try:
            for number, place, size, rows, _, _, opens in PART.iter_unpack(packed):
                if rows:
                    read = _part_read(self, number, place, size, rows, opens)
                    for row in range(rows):
                        yield from read.segments_of(row)
                else:
                    yield self.segments[place]
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise HitledgerError(f"{self.name}: changed while it was read: run again") from error


class DeferredPrompt(Prompt):
    """A prompt that extends another by parts, packed one behind the other, which are cut on first use of `own`."""

    __slots__ = ("_own", "_parts", "_rows", "_thinking")

    _own: tuple[Segment, ...] | None

    # A large tree has 40,000 of them, and a frozen dataclass's own way is dear: both have to be replaced for that.
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def __init__(self, base: Prompt, parts: bytes, segments: int, thinking: int, rows: Rows) -> None:
        self.base = base  # type: ignore[misc]
        self.length = base.length + segments  # type: ignore[misc]
        self._parts = parts
        self._thinking = thinking
        self._rows = rows
        self._own = None

    @property
    def own(self) -> tuple[Segment, ...]:
        """The segments, cut at the first look."""
        if self._own is None:
            self._own = tuple(self._rows.cut(self._parts))
        return self._own

    def pieces(self) -> Iterator[Segment]:
        """The own segments one by one; no row is read again before it is asked for."""
        return iter(self._own) if self._own is not None else self._rows.cut(self._parts)

    def thinking(self) -> int:
        """How many of the own segments are thinking, known without cutting them."""
        return self._thinking

    def last_message(self) -> tuple[int, bool]:
        """How many of the own segments belong to the last message, known without cutting them."""
        count = 0
        for place in range(len(self._parts) - PART.size, -1, -PART.size):
            *_, added, _, opens = PART.unpack_from(self._parts, place)
            count += added
            if opens and added:
                return count, True
        return count, False
