"""A log file as rows or as one document: gzip and zstd, size limits, damage that is counted and never hidden."""

import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import orjson
import zstandard

from hitledger.errors import NothingToReadError
from hitledger.logs.ingest import FileLedger

MAX_ROW_BYTES = 32 * 2**20
MAX_DOCUMENT_BYTES = 512 * 2**20
HEAD_BYTES = 64 * 2**10
HEAD_ROWS = 20
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON value of a line-oriented log."""

    number: int  # from 1
    data: Any
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of the input. `name` is how the user gave it (it is printed); `path` None means standard input."""

    path: Path | None
    name: str
    content: bytes | None = None  # standard input, read once

    def open(self) -> IO[bytes]:
        """The bytes, decompressed where the first bytes say gzip or zstd. Raises NothingToReadError."""
        if self.path is None:
            return io.BytesIO(self.content or b"")
        try:
            raw = self.path.open("rb")
        except OSError as error:
            raise NothingToReadError(f"{self.name}: cannot be read: {error.strerror}") from error
        magic = raw.read(4)
        raw.seek(0)
        if magic[:2] == b"\x1f\x8b":
            return gzip.open(raw)  # type: ignore[return-value]
        if magic == b"\x28\xb5\x2f\xfd":
            return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True))
        return raw

    def head(self) -> bytes:
        """The first 64 KiB."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    def head_rows(self) -> tuple[Any, ...]:
        """The first rows that are JSON objects or lists, for detection. A document on many lines gives none."""
        ledger = FileLedger(self.name, "")
        found: list[Any] = []
        for row in self.rows(ledger):
            found.append(row.data)
            if len(found) == HEAD_ROWS:
                break
            if ledger.skipped > HEAD_ROWS:
                return ()
        return tuple(found)

    def document(self) -> Any:
        """The whole file as one JSON value. Raises NothingToReadError where it is too large or is not JSON."""
        return _document(self)

    def rows(self, ledger: FileLedger) -> Iterator[Row]:
        """JSON objects line by line; blank lines do not count; bad lines are skipped in the ledger with the reason."""
        with self.open() as stream:
            number = 0
            while line := stream.readline(MAX_ROW_BYTES + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(BOM)
                if len(line) > MAX_ROW_BYTES and not line.endswith(b"\n"):
                    _to_line_end(stream)
                    ledger.count_rows()
                    ledger.skip(number, f"line longer than {MAX_ROW_BYTES // 2**20} MiB")
                    continue
                if not line.strip():
                    continue
                ledger.count_rows()
                data = _parsed(line, number, ledger)
                if data is not None:
                    yield Row(number, data, len(line))


def _to_line_end(stream: IO[bytes]) -> None:
    while rest := stream.readline(MAX_ROW_BYTES):
        if rest.endswith(b"\n"):
            return


def _parsed(line: bytes, number: int, ledger: FileLedger) -> Any:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        ledger.skip(number, f"not valid JSON: {error}")
        return None
    if not isinstance(data, dict | list):
        ledger.skip(number, f"a {type(data).__name__}, not an object")
        return None
    return data


@lru_cache(maxsize=1)  # detection and reading ask for the same file one after the other
def _document(file: LogFile) -> Any:
    with file.open() as stream:
        content = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise NothingToReadError(f"{file.name}: larger than {MAX_DOCUMENT_BYTES // 2**20} MiB as one document")
    try:
        return orjson.loads(content.removeprefix(BOM))
    except orjson.JSONDecodeError as error:
        raise NothingToReadError(f"{file.name}: not valid JSON: {error}") from error
