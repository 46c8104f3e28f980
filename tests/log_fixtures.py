"""Made-up logs, and readers asked by the name of their format."""

import json
from typing import Any

import log_reading
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger
from hitledger.logs.registry import reader_of, readers
from hitledger.types import Call


def content_of(file: LogFile) -> bytes:
    with file.open() as stream:
        return stream.read()


def made(*values: Any, name: str = "made.json") -> LogFile:
    """A file of JSON values, one a line."""
    return LogFile(None, name, b"".join(json.dumps(value).encode() + b"\n" for value in values))


def read(format_name: str, *files: LogFile, strict: bool = False) -> tuple[list[Call], FileLedger]:
    """All calls and the ledger of the first file; every ledger must balance."""
    found = log_reading.read(reader_of(format_name), *files, strict=strict)
    return found.calls, found.ledgers[0]


def claims(file: LogFile) -> list[str]:
    return [reader.format for reader in readers() if reader.sniff(file)]


def paths(call: Call) -> list[str]:
    return [segment.path for segment in call.prompt.segments()]


def figures(call: Call) -> tuple[int, int | None, dict[str, int] | None, int | None] | None:
    """Uncached, read, written by lifetime, output."""
    if call.usage is None:
        return None
    writes = call.usage.cache_writes
    written = None if writes is None else {write.ttl: write.tokens for write in writes}
    return call.usage.uncached_input_tokens, call.usage.cache_read_tokens, written, call.usage.output_tokens
