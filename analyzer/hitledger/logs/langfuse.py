"""Langfuse exports: a trace with its observations, or lists and lines of observations."""

from collections.abc import Iterator

from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.spans import reading
from hitledger.types import Call

FORMAT = "langfuse"


def sniff(file: LogFile) -> bool:
    """Whether its first value is a trace with observations or an observation."""
    return reading.claims(file, FORMAT)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """All calls, each request once."""
    return reading.read(files, ingest, FORMAT)
