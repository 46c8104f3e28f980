"""Prompts whose segments are cut when they are first asked for.

Most calls of a transcript need no look at their text: usage alone says that nothing broke. So a prompt remembers where
its rows stand in the file and reads them again when a break has to be explained. What cannot be read twice (standard
input, a compressed file) is cut at once.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
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

    def counts(self, piece: Piece) -> tuple[int, int, bool]:
        """Segments of a row, thinking segments among them, and whether it opens a message."""
        _, _, _, count, thinking, opens = PLACE.unpack_from(self.places, piece * PLACE.size)
        return count, thinking, opens

    def cut(self, parts: Iterable[Part]) -> Iterator[Segment]:
        """The parts as segments; a row is read again when it is asked for.

        Raises HitledgerError where the file is not what it was.
        """
        try:
            with self.path.open("rb") as stream:
                for part in parts:
                    if isinstance(part, Segment):
                        yield part
                        continue
                    number, start, size, _, _, opens = PLACE.unpack_from(self.places, part * PLACE.size)
                    stream.seek(start)
                    yield from segments_of_row(_read_again(stream.read(size)), number, opens)
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise HitledgerError(f"{self.name}: changed while it was read: run again") from error


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

    def counts(self, piece: Piece) -> tuple[int, int, bool]:
        """Nothing is kept as a place."""
        return 0, 0, False

    def cut(self, parts: Iterable[Part]) -> Iterator[Segment]:
        """The parts, which are segments."""
        yield from (part for part in parts if isinstance(part, Segment))


def counts_of(part: Part, rows: Rows | RowsAtOnce) -> tuple[int, int, bool]:
    """Segments of a part, thinking segments among them, and whether it opens a message."""
    if isinstance(part, Segment):
        return 1, int(part.kind is Kind.THINKING), part.opens_message
    return rows.counts(part)


class DeferredPrompt(Prompt):
    """A prompt that extends another by parts which are cut on first use of `own`."""

    __slots__ = ("_own", "_parts", "_rows", "_thinking")

    _own: tuple[Segment, ...] | None
    _parts: tuple[Part, ...]
    _thinking: int
    _rows: Rows | RowsAtOnce

    __setattr__ = object.__setattr__  # a large tree has 40,000 of them, and a frozen dataclass's own way is dear

    def __init__(
        self, base: Prompt, parts: tuple[Part, ...], segments: int, thinking: int, rows: Rows | RowsAtOnce
    ) -> None:
        self.base = base  # type: ignore[misc]
        self.length = base.length + segments  # type: ignore[misc]
        self._thinking = thinking
        self._parts = parts
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
        for part in reversed(self._parts):
            added, _, opens = counts_of(part, self._rows)
            count += added
            if opens and added:
                return count, True
        return count, False
