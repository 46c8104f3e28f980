"""Files of a test read by one reader, with the ledger checked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.types import Call, Kind

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
CORPUS = ROOT.parent / "shared" / "corpus"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader gave."""

    calls: list[Call]
    ledgers: list[FileLedger]

    @property
    def skips(self) -> list[tuple[int, str]]:
        return [(skip.row, skip.reason) for ledger in self.ledgers for skip in ledger.skips]

    @property
    def known(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for ledger in self.ledgers:
            for kind, number in ledger.known_rows.items():
                rows[kind] = rows.get(kind, 0) + number
        return rows


def fixture(name: str) -> LogFile:
    """A file below `fixtures/`."""
    return LogFile(FIXTURES / name, name)


def folder(name: str) -> list[LogFile]:
    """The logs of a folder below `fixtures/`."""
    paths = sorted(path for path in (FIXTURES / name).iterdir() if not path.name.startswith(("README", "LICENSE")))
    return [LogFile(path, f"{name}/{path.name}") for path in paths]


def written(tmp_path: Path, name: str, content: str | bytes) -> LogFile:
    """A file written for the test."""
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return LogFile(path, name)


def read(reader: Any, *files: LogFile, strict: bool = False) -> Reading:
    """All calls of the files; every row must be accounted for."""
    ingest = Ingest(strict)
    calls = list(reader.read(files, ingest))
    assert all(ledger.balanced for ledger in ingest.ledgers), ingest.ledgers
    assert len(calls) == sum(ledger.calls for ledger in ingest.ledgers)
    return Reading(calls, ingest.ledgers)


def visible(call: Call) -> list[str]:
    """Rows and kinds of a transcript's visible prompt, like `3 tool_result`."""
    assert call.prompt.segments()[0].kind is Kind.HIDDEN
    return [f"{s.path.partition(']')[0][1:]} {s.kind}" for s in call.prompt.segments()[1:]]


def usage(call: Call) -> tuple[int | None, ...] | None:
    """Uncached, read, written, output."""
    found = call.usage
    return found and (
        found.uncached_input_tokens,
        found.cache_read_tokens,
        found.cache_write_tokens,
        found.output_tokens,
    )
