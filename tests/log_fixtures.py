"""Reading fixtures and made-up logs in tests of readers."""

import json
from pathlib import Path
from typing import Any

from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.registry import reader_of, readers
from hitledger.types import Call

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"


def fixture(name: str) -> LogFile:
    return LogFile(FIXTURES / name, name)


def content_of(file: LogFile) -> bytes:
    with file.open() as stream:
        return stream.read()


def made(*values: Any, name: str = "made.json") -> LogFile:
    """A file of JSON values, one a line."""
    return LogFile(None, name, b"".join(json.dumps(value).encode() + b"\n" for value in values))


def read(format_name: str, *files: LogFile, strict: bool = False) -> tuple[list[Call], FileLedger]:
    """All calls and the ledger of the first file; every ledger must balance."""
    ingest = Ingest(strict)
    calls = list(reader_of(format_name).read(files, ingest))
    assert all(ledger.balanced for ledger in ingest.ledgers)
    assert sum(ledger.calls for ledger in ingest.ledgers) == len(calls)
    return calls, ingest.ledgers[0]


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
