"""claude-trace: `.claude-trace/log-*.jsonl`, one line per HTTP exchange of Claude Code, bodies as sent.

`response.timestamp` is the end of the stream, not the first token. A line whose `response` is null is a request that
was sent and whose answer was not recorded: a call without usage.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hitledger.logs.captured.capture import NO_CALL, Capture
from hitledger.logs.captured.envelope import exchange_in
from hitledger.logs.captured.identity import side_agent
from hitledger.logs.fields import mapping
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.types import Call, Place

FORMAT = "claude-trace"


def sniff(file: LogFile) -> bool:
    """Lines of an HTTP exchange with the time of logging."""
    return any(_is_line(row) for row in file.head_rows())


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the lines; other HTTP requests of the client are known rows."""
    capture = Capture()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for row in file.rows(ledger):
            if not isinstance(mapping(row.data).get("request"), Mapping):
                ledger.skip(row.number, "no request in this line")
                continue
            exchange = exchange_in(row.data)
            if exchange is None:
                ledger.known(NO_CALL)
                continue
            side = side_agent(exchange.request or {})
            exchange = replace(exchange, agent=side, parent_agent="main" if side else "")
            if call := capture.call(exchange, Place(file.name, row.number), ledger):
                yield call


def _is_line(row: Any) -> bool:
    data = mapping(row)
    request = mapping(data.get("request"))
    return "logged_at" in data and "response" in data and "body" in request and "url" in request
