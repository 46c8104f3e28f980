"""Prompts whose segments are cut when they are first asked for.

Most calls of a transcript need no look at their text: usage alone says that nothing broke. So a prompt remembers where
its rows stand in the file and reads them again when a break has to be explained. What cannot be read twice (standard
input, a compressed file) is cut at once.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from struct import Struct
from typing import Any

from hitledger.errors import HitledgerError
from hitledger.logs.claude_code.blocks import cut, reminder
from hitledger.logs.files import row_value
from hitledger.types import Kind, Prompt, Segment

Piece = int  # a row of the file whose content stands in a prompt: its place among those that `Rows` remembers
Part = Piece | Segment
PLACE = Struct("<QQLLL?")  # number of the row from 1, its first byte, its size, segments, thinking, opens a message


def segments_of_row(row: Any, number: int, opens_message: bool) -> list[Segment]:
    """What a row puts into the prompt."""
    path = f"[{number - 1}]"
    kind = row.get("type")
    if kind == "attachment":
        return [reminder(row["attachment"], f"{path}.attachment", opens_message)]
    role = "user" if kind == "user" else "assistant"
    return cut(row["message"].get("content"), role, f"{path}.message.content", opens_message)


class Rows:
    """A transcript that can be read again at any place. A large tree has 170,000 of them, so they are packed."""

    __slots__ = ("name", "path", "places")

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.places = bytearray()

    def parts(self, line: bytes, number: int, start: int, opens: bool, count: int, thinking: int) -> Sequence[Part]:
        """What a row puts into the prompt, as the place where it stands."""
        places = self.places
        places += PLACE.pack(number, start, len(line), count, thinking, opens)
        return (len(places) // PLACE.size - 1,)

    def tally(self, piece: Piece) -> tuple[int, int]:
        """Number of segments of a row, and of thinking segments among them."""
        _, _, _, count, thinking, _ = PLACE.unpack_from(self.places, piece * PLACE.size)
        return count, thinking

    def message(self, piece: Piece) -> tuple[int, bool]:
        """Number of segments of a row, and whether it opens a message."""
        _, _, _, count, _, opens = PLACE.unpack_from(self.places, piece * PLACE.size)
        return count, opens

    def segments(self, pieces: Sequence[Piece]) -> list[Segment]:
        """The pieces as segments. Raises HitledgerError where the file is not what it was."""
        found: list[Segment] = []
        try:
            with self.path.open("rb") as stream:
                for piece in pieces:
                    number, start, size, _, _, opens = PLACE.unpack_from(self.places, piece * PLACE.size)
                    stream.seek(start)
                    found += segments_of_row(_read_again(stream.read(size)), number, opens)
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise HitledgerError(f"{self.name}: changed while it was read: run again") from error
        return found


def _read_again(line: bytes) -> Any:
    """The whole row. A number beyond what a float holds was passed over, and is now what Python makes of it."""
    try:
        return row_value(line)
    except ValueError:
        return json.loads(line)


class RowsAtOnce:
    """A transcript that can be read only once: its rows are cut as they come."""

    def parts(self, line: bytes, number: int, start: int, opens: bool, count: int, thinking: int) -> Sequence[Part]:
        """What a row puts into the prompt."""
        return segments_of_row(row_value(line), number, opens)

    def tally(self, piece: Piece) -> tuple[int, int]:
        """Nothing is kept as a place."""
        return 0, 0

    def message(self, piece: Piece) -> tuple[int, bool]:
        """Nothing is kept as a place."""
        return 0, False

    def segments(self, pieces: Sequence[Piece]) -> list[Segment]:
        """Nothing is kept as a place."""
        return []


def tally(parts: Iterable[Part], rows: Rows | RowsAtOnce) -> tuple[int, int]:
    """Number of segments, and of thinking segments among them."""
    counts = [(1, int(p.kind is Kind.THINKING)) if isinstance(p, Segment) else rows.tally(p) for p in parts]
    return sum([segments for segments, _ in counts]), sum([thinking for _, thinking in counts])


def segments_of(parts: Sequence[Part], rows: Rows | RowsAtOnce) -> tuple[Segment, ...]:
    """The parts as segments, read again where they are places in the file."""
    found: list[Segment] = []
    for is_cut, group in groupby(parts, key=lambda part: isinstance(part, Segment)):
        if is_cut:
            found += [part for part in group if isinstance(part, Segment)]
        else:
            found += rows.segments([part for part in group if not isinstance(part, Segment)])
    return tuple(found)


class DeferredPrompt(Prompt):
    """A prompt that extends another by parts which are cut on first use of `own`."""

    __slots__ = ("_parts", "_rows", "_thinking")

    _parts: tuple[Part, ...]
    _thinking: int
    _rows: Rows | RowsAtOnce

    def __init__(
        self, base: Prompt, parts: tuple[Part, ...], segments: int, thinking: int, rows: Rows | RowsAtOnce
    ) -> None:
        put = object.__setattr__
        put(self, "base", base)
        put(self, "length", base.length + segments)
        put(self, "_thinking", thinking)
        put(self, "_parts", parts)
        put(self, "_rows", rows)

    def thinking(self) -> int:
        """How many of the own segments are thinking, known without cutting them."""
        return self._thinking

    def last_message(self) -> tuple[int, bool]:
        """How many of the own segments belong to the last message, known without cutting them."""
        count = 0
        for part in reversed(self._parts):
            if isinstance(part, Segment):
                added, opens = 1, part.opens_message
            else:
                added, opens = self._rows.message(part)
            count += added
            if opens and added:
                return count, True
        return count, False

    def __getattr__(self, name: str) -> Any:
        """Only called for what is not set yet."""
        if name != "own":
            raise AttributeError(name)
        own = segments_of(self._parts, self._rows)
        object.__setattr__(self, "own", own)
        return own
