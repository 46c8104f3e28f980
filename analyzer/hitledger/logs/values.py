"""A file as JSON values one after the other: lines, one document, or many documents with separators between them."""

import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import orjson
import zstandard
from msgspec import Struct

from hitledger.errors import HitledgerError
from hitledger.logs.files import BOM, MAX_DOCUMENT_BYTES, LogFile, cause
from hitledger.logs.ingest import FileLedger
from hitledger.logs.packed import DAMAGE

STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*("?)'
REST_OF_STRING = re.compile(STRING[1:], re.DOTALL)
BRACKET = re.compile(STRING + rb"|[\[{\]}]", re.DOTALL)
BOUNDARY = re.compile(STRING + rb"|[\[{\]},]", re.DOTALL)
LINE_BYTES = 2**23  # a long line is read in pieces; a value may span any number of them
FRESH = re.compile(rb'\{"|\[[{"]')  # how a compact value opens a line; printed text has it only where one is due
TAIL = 64  # bytes that hold the last one that is no space
MAX_DEPTH = 1024  # orjson refuses more
SEPARATORS = (b"#", b"===")


class Value(Struct, frozen=True):
    """One JSON object or list of a file."""

    number: int  # line that it starts on, from 1
    data: Any
    size: int  # bytes
    cut: bool = False  # the file ends inside it: its last record is not whole


class _Depth:
    """How many brackets are open in the bytes fed so far, strings left out. Each byte is looked at once."""

    def __init__(self) -> None:
        self.open = 0
        self.in_string = False
        self._escape = b""  # a backslash that ended the last piece

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the same value."""
        piece = self._escape + piece
        self._escape = b""
        start = self._end_of_string(piece) if self.in_string else 0
        for match in BRACKET.finditer(piece, start):
            token = match.group()
            if token in (b"{", b"["):
                self.open += 1
                if self.open > MAX_DEPTH:
                    return
            elif token in (b"}", b"]"):
                self.open -= 1
            elif not match.group(1):
                self.in_string = True
                self._escape = piece[match.end() :]

    def _end_of_string(self, piece: bytes) -> int:
        match = REST_OF_STRING.match(piece)
        end = match.end() if match else 0
        self.in_string = not (match and match.group(1))
        if self.in_string:
            self._escape = piece[end:]
            return len(piece)
        return end


def values(file: LogFile, ledger: FileLedger) -> Iterator[Value]:
    """Objects and lists in order.

    Only what is not a value is counted in the ledger, as one row: separator lines (`# …`, `=== …`) as known, and
    text that is no JSON as skipped. The caller counts the records of the values; of a value that the file ends in
    it gets what stands before the end, and must not trust the last record.
    """
    buffer, depth, start, lost = bytearray(), _Depth(), 0, False
    for number, piece, opens_line in _pieces(file, ledger):
        if lost and not (opens_line and (FRESH.match(piece) or piece.startswith(SEPARATORS))):
            continue
        lost = False
        if buffer and opens_line and FRESH.match(piece) and not _wants_value(buffer, depth):
            _bad(ledger, start, "not valid JSON: a new value starts inside this one")
            buffer, depth = bytearray(), _Depth()
        if not buffer:
            if not piece.strip():
                continue
            if not piece.lstrip().startswith((b"{", b"[")):
                _between(piece, number, ledger)
                continue
            if (whole := _whole(piece)) is not None:
                yield Value(number, whole, len(piece))
                continue
            start = number
        buffer += piece
        depth.feed(piece)
        if depth.open > MAX_DEPTH or len(buffer) > MAX_DOCUMENT_BYTES:
            deep = f"nested deeper than {MAX_DEPTH}"
            _bad(ledger, start, deep if depth.open > MAX_DEPTH else f"larger than {MAX_DOCUMENT_BYTES // 2**20} MiB")
            buffer, depth, lost = bytearray(), _Depth(), True
        elif depth.open <= 0 and not depth.in_string:
            yield from _value(bytes(buffer), start, ledger)
            buffer, depth = bytearray(), _Depth()
    if buffer:
        yield from _value(closed(bytes(buffer)), start, ledger, cut=True)


def _whole(piece: bytes) -> Any:
    """The value where a line is one, as nearly all are; None where it goes on or is damaged."""
    if not piece.rstrip().endswith((b"}", b"]")):
        return None
    try:
        return orjson.loads(piece)
    except orjson.JSONDecodeError:
        return None


def _wants_value(buffer: bytearray, depth: _Depth) -> bool:
    """Whether the open value goes on with another one: lists are also printed with one element a line."""
    return not depth.in_string and bytes(buffer[-TAIL:]).rstrip().endswith((b"[", b",", b":"))


def _pieces(file: LogFile, ledger: FileLedger) -> Iterator[tuple[int, bytes, bool]]:
    """Line, its bytes or a part of them, and whether they open it. A stream that breaks half way is a skipped row."""
    number, opens_line = 1, True
    try:
        with file.open() as stream:
            while piece := stream.readline(LINE_BYTES):
                yield number, piece.removeprefix(BOM) if number == 1 and opens_line else piece, opens_line
                opens_line = piece.endswith(b"\n")
                number += opens_line
    except DAMAGE as error:
        _bad(ledger, number, f"the rest cannot be read: {cause(error)}")


def _bad(ledger: FileLedger, number: int, reason: str) -> None:
    ledger.count_rows()
    ledger.skip(number, reason)


def _between(piece: bytes, number: int, ledger: FileLedger) -> None:
    if piece.lstrip().startswith(SEPARATORS):
        ledger.count_rows()
        ledger.known("separator")
    else:
        _bad(ledger, number, "not valid JSON")


def _value(content: bytes, start: int, ledger: FileLedger, cut: bool = False) -> Iterator[Value]:
    try:
        yield Value(start, orjson.loads(content), len(content), cut)
    except orjson.JSONDecodeError as error:
        _bad(ledger, start, "the file ends inside this value" if cut else f"not valid JSON: {error}")


def closed(content: bytes) -> bytes:
    """The first value in `content`; where it does not end, what stands before the last comma or bracket, closed."""
    end = 0
    depth = 0
    for match in BOUNDARY.finditer(content):
        token = match.group()
        if token in (b"{", b"["):
            depth, end = depth + 1, match.end()
        elif token in (b"}", b"]"):
            depth, end = depth - 1, match.end()
            if depth <= 0:
                return content[:end]
        elif token == b",":
            end = match.start()
    closers: list[bytes] = []
    for match in BRACKET.finditer(content[:end]):
        token = match.group()
        if token in (b"{", b"["):
            closers.append(b"}" if token == b"{" else b"]")
        elif token in (b"}", b"]"):
            closers.pop()
    return content[:end] + b"".join(reversed(closers))


@lru_cache(maxsize=1)  # all readers ask for the same file, one after the other
def opening(file: LogFile) -> Any:
    """The first JSON value of a file as far as its first 64 KiB hold it; None where there is none. Never raises.

    For detection: a document of any size shows its first keys without being read. Separator lines are passed over.
    """
    try:
        head = file.head().removeprefix(BOM).lstrip()
        while head.startswith(SEPARATORS):
            head = head.partition(b"\n")[2].lstrip()
        return orjson.loads(closed(head)) if head.startswith((b"{", b"[")) else None
    except (OSError, EOFError, ValueError, HitledgerError, zlib.error, zstandard.ZstdError):
        return None
