"""A file as JSON values one after the other: lines, one document, or many documents with separators between them."""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from hitledger.logs.files import BOM, MAX_DOCUMENT_BYTES, LogFile, Row
from hitledger.logs.ingest import FileLedger

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*("?)|[\[{\]},]', re.DOTALL)
LINE_BYTES = 2**20  # a long line is read in pieces; a value may span any number of them
FRESH = re.compile(rb'\{"|\[[{"]')  # how a compact value opens a line; pretty-printed text never has it there


class _Depth:
    """How many brackets are open in the bytes fed so far, strings left out."""

    def __init__(self) -> None:
        self.open = 0
        self.in_string = b""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the same value."""
        piece = self.in_string + piece
        self.in_string = b""
        for match in TOKEN.finditer(piece):
            token = match.group()
            if token in (b"{", b"["):
                self.open += 1
            elif token in (b"}", b"]"):
                self.open -= 1
            elif token.startswith(b'"') and not match.group(1):
                self.in_string = token


def values(file: LogFile, ledger: FileLedger) -> Iterator[Row]:
    """Objects and lists in order. `number` is the line a value starts on.

    Only what is not a value is counted in the ledger, as one row: separator lines (`# …`, `=== …`) as known, and
    text that is no JSON, or a value that the file ends in, as skipped. The caller counts the records of the values.
    """
    buffer, depth, start = bytearray(), _Depth(), 0
    for number, piece, opens_line in _pieces(file):
        if buffer and opens_line and FRESH.match(piece):
            ledger.count_rows()
            ledger.skip(start, "not valid JSON: a new value starts inside this one")
            buffer, depth = bytearray(), _Depth()
        if not buffer:
            if not piece.strip():
                continue
            if not piece.lstrip().startswith((b"{", b"[")):
                _between(piece, number, ledger)
                continue
            start = number
        buffer += piece
        depth.feed(piece)
        if len(buffer) > MAX_DOCUMENT_BYTES or (depth.open <= 0 and not depth.in_string):
            yield from _value(bytes(buffer), start, ledger)
            buffer, depth = bytearray(), _Depth()
    if buffer:
        ledger.count_rows()
        ledger.skip(start, "the file ends inside this value")


def _pieces(file: LogFile) -> Iterator[tuple[int, bytes, bool]]:
    with file.open() as stream:
        number, opens_line = 1, True
        while piece := stream.readline(LINE_BYTES):
            yield number, piece.removeprefix(BOM) if number == 1 and opens_line else piece, opens_line
            opens_line = piece.endswith(b"\n")
            number += opens_line


def _between(piece: bytes, number: int, ledger: FileLedger) -> None:
    ledger.count_rows()
    if piece.lstrip().startswith((b"#", b"===")):
        ledger.known("separator")
    else:
        ledger.skip(number, "not valid JSON")


def _value(content: bytes, start: int, ledger: FileLedger) -> Iterator[Row]:
    if len(content) > MAX_DOCUMENT_BYTES:
        ledger.count_rows()
        ledger.skip(start, f"value larger than {MAX_DOCUMENT_BYTES // 2**20} MiB")
        return
    try:
        yield Row(start, orjson.loads(content), len(content))
    except orjson.JSONDecodeError as error:
        ledger.count_rows()
        ledger.skip(start, f"not valid JSON: {error}")


def opening(file: LogFile) -> Any:
    """The first JSON value of a file as far as its first 64 KiB hold it, closed where they end; None where there is none.

    For detection: a document of any size shows its first keys without being read. Separator lines are passed over.
    """
    head = file.head().removeprefix(BOM)
    while head.lstrip().startswith((b"#", b"===")):
        head = head.lstrip().partition(b"\n")[2]
    head = head.lstrip()
    closers: list[bytes] = []
    end, open_then = 0, b""
    for match in TOKEN.finditer(head):
        token = match.group()
        if token in (b"{", b"["):
            closers.insert(0, b"}" if token == b"{" else b"]")
            end, open_then = match.end(), b"".join(closers)
        elif token in (b"}", b"]"):
            if not closers:
                return None
            closers.pop(0)
            end, open_then = match.end(), b"".join(closers)
            if not closers:
                break
        elif token == b",":
            end, open_then = match.start(), b"".join(closers)
    if not head.startswith((b"{", b"[")):
        return None
    try:
        return orjson.loads(head[:end] + open_then)
    except orjson.JSONDecodeError:
        return None
