"""HAR: the HTTP archive that browsers and proxies (mitmproxy, Charles, Proxyman) export.

`startedDateTime` is the request's start, `timings.wait` the time to the first byte: exact to the millisecond. Bodies
are exact where the exporter kept them; some exporters cut long ones or drop the text of streams.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.captured.capture import Capture
from hitledger.logs.captured.exchange import NO_BODY, Exchange
from hitledger.logs.captured.identity import safe_headers
from hitledger.logs.captured.payloads import payload_of
from hitledger.logs.fields import count, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.instants import after, instant
from hitledger.logs.records import head_document, records_under
from hitledger.types import Call, Place

FORMAT = "har"


def sniff(file: LogFile) -> bool:
    """A document `{log: {entries: […]}}`."""
    log = mapping(mapping(head_document(file)).get("log"))
    return isinstance(log.get("entries"), list) and ("version" in log or "creator" in log)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the entries; other HTTP requests are known rows."""
    capture = Capture()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for number, entry in records_under(file, ledger, ("log", "entries")):
            request = mapping(mapping(entry).get("request"))
            if not request:
                ledger.skip(number, "an entry without a request")
                continue
            exchange = _exchange(mapping(entry), request)
            if call := capture.call(exchange, Place(file.name, number), ledger):
                yield call


def _exchange(entry: Mapping[str, Any], request: Mapping[str, Any]) -> Exchange:
    response = mapping(entry.get("response"))
    content = mapping(response.get("content"))
    sent = payload_of(mapping(request.get("postData")).get("text"))
    received = payload_of(content.get("text"), is_base64=content.get("encoding") == "base64")
    timings = mapping(entry.get("timings"))
    started = instant(entry.get("startedDateTime"))
    return Exchange(
        request=sent.body or NO_BODY,
        response=received.body,
        url=text(request.get("url")),
        status=count(response.get("status")) or None,
        request_headers=safe_headers(request.get("headers")),
        response_headers=safe_headers(response.get("headers")),
        started_at=started,
        first_token_at=after(started, _until_first_byte(timings)),
        ended_at=after(started, entry.get("time")),
        notes=sent.notes + received.notes,
    )


def _until_first_byte(timings: Mapping[str, Any]) -> float | None:
    """Milliseconds from the start to the first byte of the answer; -1 in HAR means "does not apply"."""
    if not isinstance(timings.get("wait"), int | float) or timings["wait"] < 0:
        return None
    parts = (timings.get(name) for name in ("blocked", "dns", "connect", "send", "wait"))
    return sum(float(part) for part in parts if isinstance(part, int | float) and part > 0)
