"""Prompts whose segments are cut when they are first asked for.

Most calls of a transcript need no look at their text: usage alone says that nothing broke. So a prompt remembers where
its rows stand in the file and reads them again when a break has to be explained. What cannot be read twice (standard
input, a compressed file) is cut at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from hitledger.errors import HitledgerError
from hitledger.logs.claude_code.blocks import cut, reminder
from hitledger.logs.files import row_value
from hitledger.types import Kind, Prompt, Segment

# A row of the file whose content stands in a prompt: its number from 1, its first byte, its size, whether it opens a
# message, how many segments it makes, how many of these are thinking. A plain tuple: a large tree has 170,000 of them.
Piece = tuple[int, int, int, bool, int, int]
Part = Piece | Segment


def tally(parts: Iterable[Part]) -> tuple[int, int]:
    """Number of segments, and of thinking segments among them."""
    counts = [(1, int(part.kind is Kind.THINKING)) if isinstance(part, Segment) else part[4:] for part in parts]
    return sum([segments for segments, _ in counts]), sum([thinking for _, thinking in counts])


def segments_of_row(row: Any, number: int, opens_message: bool) -> list[Segment]:
    """What a row puts into the prompt."""
    path = f"[{number - 1}]"
    kind = row.get("type")
    if kind == "attachment":
        return [reminder(row["attachment"], f"{path}.attachment", opens_message)]
    role = "user" if kind == "user" else "assistant"
    return cut(row["message"].get("content"), role, f"{path}.message.content", opens_message)


@dataclass(frozen=True, slots=True)
class Rows:
    """A transcript that can be read again at any place."""

    path: Path
    name: str

    def segments(self, pieces: Sequence[Piece]) -> list[Segment]:
        """The pieces as segments. Raises HitledgerError where the file is not what it was."""
        found: list[Segment] = []
        try:
            with self.path.open("rb") as stream:
                for number, offset, size, opens_message, _, _ in pieces:
                    stream.seek(offset)
                    found += segments_of_row(row_value(stream.read(size)), number, opens_message)
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise HitledgerError(f"{self.name}: changed while it was read: run again") from error
        return found


def segments_of(parts: Sequence[Part], rows: Rows | None) -> tuple[Segment, ...]:
    """The parts as segments, read again where they are places in the file."""
    found: list[Segment] = []
    for is_cut, group in groupby(parts, key=lambda part: isinstance(part, Segment)):
        if is_cut:
            found += [part for part in group if isinstance(part, Segment)]
        elif rows is not None:
            found += rows.segments([part for part in group if not isinstance(part, Segment)])
    return tuple(found)


class DeferredPrompt(Prompt):
    """A prompt that extends another by parts which are cut on first use of `own`."""

    __slots__ = ("_parts", "_rows", "_thinking")

    _parts: tuple[Part, ...]
    _thinking: int
    _rows: Rows | None

    def __init__(self, base: Prompt, parts: tuple[Part, ...], segments: int, thinking: int, rows: Rows | None) -> None:
        put = object.__setattr__
        put(self, "base", base)
        put(self, "length", base.length + segments)
        put(self, "_thinking", thinking)
        put(self, "_parts", parts)
        put(self, "_rows", rows)

    def thinking(self) -> int:
        """How many of the own segments are thinking, known without cutting them."""
        return self._thinking

    def __getattr__(self, name: str) -> Any:
        """Only called for what is not set yet."""
        if name != "own":
            raise AttributeError(name)
        own = segments_of(self._parts, self._rows)
        object.__setattr__(self, "own", own)
        object.__setattr__(self, "_parts", ())
        return own
