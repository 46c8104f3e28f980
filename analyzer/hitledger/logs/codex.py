"""Reader of codex logs."""

from collections.abc import Iterator

from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.types import Call

FORMAT = "codex"


def sniff(file: LogFile) -> bool:
    """Whether this reader reads the file."""
    return False


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls of all files of this format."""
    yield from ()
