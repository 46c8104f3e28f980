"""A log file as rows or as one document: size limits, damage that is counted and never hidden."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar, cast

import orjson
from msgspec import Struct

from hitledger.errors import NothingToReadError
from hitledger.logs.ingest import FileLedger
from hitledger.logs.packed import DAMAGE, is_packed, unpacked

MAX_ROW_BYTES = 32 * 2**20
MAX_DOCUMENT_BYTES = 512 * 2**20
MAX_FILE_BYTES = 64 * 2**30  # after decompression
HEAD_BYTES = 64 * 2**10
HEAD_ROWS = 20
HEAD_ROW_BYTES = 2**20  # no further head row after so many bytes of rows and blank lines
HEAD_BAD_BYTES = 128 * 2**20  # nor after so many of lines that are none
MAX_NO_ROWS = 100_000  # lines one after the other that are no rows
BUFFER_BYTES = 256 * 2**10  # a third of the reading time of the default
BATCH_BYTES = 128 * 2**10  # lines that are decoded one after the other, with nothing else in between: a tenth faster
PRINTED_LINE = 100  # bytes; no line of a printed document opens one and is longer
BOM = b"\xef\xbb\xbf"
# Half of a surrogate pair: JavaScript writes one where it cut a string, and a strict parser refuses the whole row.
LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


Value = TypeVar("Value")
Decode = Callable[[Sequence[bytes]], list[Value]]  # one value for each line; ValueError where one of them is bad


class Row(NamedTuple):
    """One JSON value of a line-oriented log."""

    number: int  # from 1
    data: Any


class LogFile(Struct, frozen=True):
    """A file of the input. `name` is how the user gave it (it is printed); `path` None means standard input."""

    path: Path | None
    name: str
    content: bytes | None = None  # standard input, read once

    def open(self, buffer_bytes: int = BUFFER_BYTES) -> IO[bytes]:
        """The bytes, decompressed where the first bytes say gzip or zstd. Raises OSError where the file is gone."""
        return unpacked(io.BytesIO(self.content or b"") if self.path is None else self.path.open("rb", buffer_bytes))

    def is_plain(self) -> bool:
        """Whether rows can be found again by their offset: a file on disk that is not compressed."""
        if self.path is None:
            return False
        try:
            with self.path.open("rb") as stream:
                return not is_packed(stream.read(4))
        except OSError:  # gone since it was found: who reads its rows says so
            return False

    def head(self) -> bytes:
        """The first 64 KiB; nothing of a file that is gone since it was found: who reads its rows says so."""
        with suppress(NothingToReadError):
            return _head(self)
        return b""

    def readable_head(self) -> bytes:
        """The same, as long as they can be read. Raises NothingToReadError."""
        return _head(self)

    def head_rows(self) -> tuple[Any, ...]:
        """The first rows that are JSON objects or lists, for detection. A document on many lines gives none."""
        return _head_rows(self)

    def document(self) -> Any:
        """The whole file as one JSON value. Raises NothingToReadError where it is too large or is not one."""
        outcome = _document(self)
        if isinstance(outcome, NothingToReadError):
            raise outcome
        return outcome

    def rows(self, ledger: FileLedger) -> Iterator[Row]:
        """JSON objects line by line, as `decoded` gives them."""
        return (Row(number, data) for number, data, _, _ in self.decoded(ledger, row_values))

    def decoded(self, ledger: FileLedger, decode: Decode[Value]) -> Iterator[tuple[int, Value, bytes, int]]:
        """Number of the row from 1, what its reader decodes it to, its line, and the place of its first byte.

        Blank lines do not count; bad lines, of which `decode` raises ValueError with the reason, are skipped in the
        ledger. A stream that breaks half way (a truncated gzip file) is one skipped row; what came before it is kept.
        """
        at = _At()
        try:
            with self.open() as stream:
                for lines in _batches(stream):
                    found = _all_decoded(lines, decode)
                    if found is None:
                        yield from _one_by_one(lines, at, ledger, decode)
                        if _goes_on(lines[-1]):
                            at.start += _to_line_end(stream, at.start)
                    else:
                        ledger.rows += len(found)
                        numbers = range(at.number + 1, at.number + 1 + len(found))
                        starts = accumulate(map(len, lines), initial=at.start)
                        at.number, at.start, at.bad = at.number + len(found), at.start + sum(map(len, lines)), 0
                        yield from zip(numbers, found, lines, starts)  # noqa: B905 - one start more: behind the last
                    ledger.bytes_read = at.start
                    if at.start > MAX_FILE_BYTES:
                        raise EOFError(f"more than {MAX_FILE_BYTES // 2**30} GiB")
        except DAMAGE as error:
            ledger.count_rows()
            ledger.skip(at.number + 1, f"the rest cannot be read: {cause(error)}")


class _At:
    """How far a file is read."""

    __slots__ = ("bad", "number", "start")

    def __init__(self) -> None:
        self.number = 0  # of the last line, from 1
        self.start = 0  # first byte behind it
        self.bad = 0  # lines one after the other, up to here, that are no rows


def _batches(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Lines with their ends, some at a time; none of more than MAX_ROW_BYTES but as the last one, cut."""
    most = min(BATCH_BYTES, MAX_ROW_BYTES)
    if stream.seekable() and 0 < _size(stream) <= MAX_ROW_BYTES:  # nor is any line longer; a device file says 0
        while some := stream.readlines(max(most, 1)):
            yield some
        return
    lines: list[bytes] = []
    held = 0
    try:
        while line := stream.readline(MAX_ROW_BYTES + 1):
            lines.append(line)
            held += len(line)
            if held > most:
                yield lines
                lines, held = [], 0
    except DAMAGE:
        if lines:
            yield lines
        raise
    if lines:
        yield lines


def _size(stream: IO[bytes]) -> int:
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    return size


def _all_decoded(lines: list[bytes], decode: Decode[Value]) -> list[Value] | None:
    """All lines decoded, or None where one of them needs a look of its own."""
    if _goes_on(lines[-1]):
        return None
    try:
        return decode(lines)
    except ValueError:
        return None


def _one_by_one(
    lines: list[bytes], at: _At, ledger: FileLedger, decode: Decode[Value]
) -> Iterator[tuple[int, Value, bytes, int]]:
    for line in lines:
        start = at.start
        at.number += 1
        at.start += len(line)
        at.bad += 1
        try:
            if _goes_on(line):
                raise ValueError(f"line longer than {MAX_ROW_BYTES // 2**20} MiB")
            (data,) = decode((line,))
        except ValueError as error:
            if line.strip():
                ledger.count_rows()
                ledger.skip(at.number, str(error))
            if at.bad > MAX_NO_ROWS:
                raise EOFError(f"{MAX_NO_ROWS:,} lines in a row hold no JSON") from error
        else:
            at.bad = 0
            ledger.rows += 1
            yield at.number, data, line, start


def row_values(lines: Sequence[bytes]) -> list[dict[str, Any] | list[Any]]:
    """The objects or lists on some lines. Raises ValueError with the reason where one has none."""
    return list(map(row_value, lines))


def row_value(line: bytes) -> dict[str, Any] | list[Any]:
    """The object or list on one line. Raises ValueError with the reason where there is none."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        data = _repaired(line)
        if data is None:
            raise ValueError(f"not valid JSON: {error}") from error
    if type(data) is not dict and type(data) is not list:
        raise ValueError(f"a {type(data).__name__}, not an object")
    return data


def _repaired(line: bytes) -> Any:
    """The row without byte order mark and with halves of surrogate pairs replaced by U+FFFD; None where all fails."""
    try:
        return orjson.loads(LONE_SURROGATE.sub(rb"\\ufffd", line.removeprefix(BOM)))
    except orjson.JSONDecodeError:
        return None


def _goes_on(line: bytes) -> bool:
    """Whether the line was cut at the limit."""
    return len(line) > MAX_ROW_BYTES and not line.endswith(b"\n")


def _to_line_end(stream: IO[bytes], read: int) -> int:
    """Pass over the rest of a line; returns its bytes."""
    passed = 0
    while rest := stream.readline(MAX_ROW_BYTES):
        passed += len(rest)
        if rest.endswith(b"\n") or read + passed > MAX_FILE_BYTES:
            break
    return passed


def cause(error: BaseException) -> str:
    """What broke a stream, in words."""
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")


# Detection asks for the same file once per reader: each answer is kept until the next file, or the next run.


def forget_answers() -> None:
    """A file of the same name can hold something else by now."""
    for answer in (_head, _head_rows, _document):
        answer.cache_clear()


@lru_cache(maxsize=1)
def _head(file: LogFile) -> bytes:
    head = b""
    try:
        with file.open(HEAD_BYTES) as stream:
            while len(head) < HEAD_BYTES and (piece := cast(io.BufferedReader, stream).read1(HEAD_BYTES - len(head))):
                head += piece
    except DAMAGE as error:
        if not head:  # else what comes before the damage is read, and the damage is a skipped row then
            raise NothingToReadError(f"{file.name}: cannot be read: {cause(error)}") from error
    return head


@lru_cache(maxsize=1)
def _head_rows(file: LogFile) -> tuple[Any, ...]:
    head = file.head()
    if _opens_document(head):
        return ()
    is_whole = len(head) < HEAD_BYTES
    found = _first_rows(io.BytesIO(head if is_whole else head[: head.rfind(b"\n") + 1]))
    if not is_whole and len(found) < HEAD_ROWS:
        with suppress(*DAMAGE), file.open() as stream:
            found = _first_rows(stream)
    return tuple(found)


def _first_rows(stream: IO[bytes]) -> list[Any]:
    found: list[Any] = []
    size = bad = bad_bytes = 0
    with suppress(*DAMAGE):
        while len(found) < HEAD_ROWS and size < HEAD_ROW_BYTES and bad <= HEAD_ROWS and bad_bytes < HEAD_BAD_BYTES:
            line = stream.readline(MAX_ROW_BYTES)
            if not line:
                break
            try:
                found.append(row_value(line))
            except ValueError:
                if line.strip():
                    bad, bad_bytes = bad + 1, bad_bytes + len(line)
                    continue
            size += len(line)
    return found


def _opens_document(head: bytes) -> bool:
    """Whether the first line cannot be a row: later lines of a printed document can look like rows by themselves.

    A long line that ends so is a row that was cut.
    """
    first, _, rest = head.removeprefix(BOM).lstrip().partition(b"\n")
    return bool(rest) and len(first) < PRINTED_LINE and first.rstrip().endswith((b"{", b"[", b","))


@lru_cache(maxsize=1)
def _document(file: LogFile) -> Any:
    """The parsed document, or the error why there is none (so that asking again does not read again)."""
    if len(file.head_rows()) > 1:
        return NothingToReadError(f"{file.name}: many JSON values, not one document")
    try:
        with file.open() as stream:
            content = stream.read(MAX_DOCUMENT_BYTES + 1)
        if len(content) > MAX_DOCUMENT_BYTES:
            return NothingToReadError(f"{file.name}: larger than {MAX_DOCUMENT_BYTES // 2**20} MiB as one document")
        return orjson.loads(content.removeprefix(BOM))
    except orjson.JSONDecodeError as error:
        return NothingToReadError(f"{file.name}: not valid JSON: {error}")
    except DAMAGE as error:
        return NothingToReadError(f"{file.name}: cannot be read: {cause(error)}")
