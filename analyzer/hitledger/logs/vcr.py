"""VCR cassettes (vcrpy, pytest-recording): YAML with the HTTP interactions of a test, bodies as sent.

A cassette has no time per request; the `Date` header of the response, in seconds, is the best there is. Cassettes
with `parsed_body` hold the body as YAML with sorted keys: content is exact, the order of keys is not the wire's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import yaml

from hitledger.logs.captured.answers import created_at
from hitledger.logs.captured.capture import Capture
from hitledger.logs.captured.exchange import NO_BODY, Exchange
from hitledger.logs.captured.identity import safe_headers
from hitledger.logs.captured.payloads import payload_of
from hitledger.logs.fields import count, items, mapping, text
from hitledger.logs.files import BOM, LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.packed import DAMAGE
from hitledger.types import Call, Place

FORMAT = "vcr"
MAX_BYTES = 64 * 2**20  # YAML costs many times its size in memory
MAX_NODES = 5_000_000


def sniff(file: LogFile) -> bool:
    """YAML that opens with recorded interactions."""
    lines = file.head().removeprefix(BOM).decode(errors="replace").splitlines()
    keys = [line for line in lines if line and not line.startswith((" ", "-", "#"))]
    opens = any(line.rstrip() == "interactions:" for line in keys[:2])
    return opens and any(line.strip(" -").rstrip() == "request:" for line in lines[:5])


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order recorded; a cassette is one session. Other HTTP requests are known rows."""
    capture = Capture()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for number, interaction in enumerate(_interactions(file, ledger), start=1):
            exchange = _exchange(mapping(interaction), file.name)
            if exchange is None:
                ledger.skip(number, "an interaction without a request")
            elif call := capture.call(exchange, Place(file.name, number), ledger):
                yield call


def _interactions(file: LogFile, ledger: FileLedger) -> list[Any]:
    """The recorded interactions, counted; of a damaged file those in front of the damage."""
    try:
        with file.open() as stream:
            content = stream.read(MAX_BYTES + 1)
    except DAMAGE as error:
        return _damaged(ledger, f"cannot be read: {error}")
    if len(content) > MAX_BYTES:
        return _damaged(ledger, f"larger than {MAX_BYTES // 2**20} MiB as one YAML document")
    try:
        found = items(mapping(_loaded(content)).get("interactions"))
    except yaml.YAMLError as error:
        found = _in_front_of(content, error)
        ledger.count_rows()
        ledger.skip(len(found) + 1, f"not valid YAML: {_where(error)}")
    ledger.count_rows(len(found))
    return found


def _damaged(ledger: FileLedger, reason: str) -> list[Any]:
    ledger.count_rows()
    ledger.skip(1, reason)
    return []


def _loaded(content: bytes) -> Any:
    """The document. Raises YAMLError, also where aliases would make it many times as large as the file."""
    document = yaml.load(content, Loader=yaml.CSafeLoader)
    waiting, nodes = [document], 0
    while waiting:
        value = waiting.pop()
        nodes += 1
        if nodes > MAX_NODES:
            raise yaml.YAMLError(f"more than {MAX_NODES} values")
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return document


def _in_front_of(content: bytes, error: yaml.YAMLError) -> list[Any]:
    """The interactions that end before the error: a list item starts with `- ` at the margin."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return []
    lines = content.decode(errors="replace").splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines[: mark.line + 1]) if line.startswith("- ")]
    if len(starts) < 2:
        return []
    try:
        return items(mapping(_loaded("".join(lines[: starts[-1]]).encode())).get("interactions"))
    except yaml.YAMLError:
        return []


def _where(error: yaml.YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    return f"line {mark.line + 1}: {problem}" if mark is not None else str(error)


def _exchange(interaction: Mapping[str, Any], session: str) -> Exchange | None:
    request, response = mapping(interaction.get("request")), mapping(interaction.get("response"))
    if not request:
        return None
    sent, received = payload_of(_body(request)), payload_of(_body(response))
    headers = safe_headers(response.get("headers"))
    moment = None if created_at(mapping(received.body)) else instant(headers.get("date"))
    return Exchange(
        request=sent.body or NO_BODY,
        response=received.body,
        url=text(request.get("uri")),
        status=count(mapping(response.get("status")).get("code")),
        request_headers=safe_headers(request.get("headers")),
        response_headers=headers,
        started_at=moment,
        session=session,
        notes=(*sent.notes, *received.notes, *(("start_estimated",) if moment else ())),
    )


def _body(message: Mapping[str, Any]) -> Any:
    """`parsed_body` as JSON, since YAML has more types than that; `body`; or `body.string`."""
    if message.get("parsed_body") is not None:
        try:
            return orjson.dumps(message["parsed_body"], default=str, option=orjson.OPT_NON_STR_KEYS)
        except orjson.JSONEncodeError:
            return None
    body = message.get("body")
    return body.get("string") if isinstance(body, Mapping) and "string" in body else body
