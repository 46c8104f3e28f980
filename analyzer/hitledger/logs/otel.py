"""OpenTelemetry GenAI spans as OTLP JSON or SDK dumps."""

from collections.abc import Iterator

from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.spans import reading
from hitledger.types import Call

FORMAT = "otel"


def sniff(file: LogFile) -> bool:
    """Whether its first value holds spans and the first instrumentation among them is this one."""
    return reading.claims(file, FORMAT)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """All calls, each request once."""
    return reading.read(files, ingest, FORMAT)
