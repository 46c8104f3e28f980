"""Batch files of OpenAI and Anthropic: the requests that were uploaded and the results that came back.

Two files make one log: a request line and a result line with the same `custom_id`. A result has no time of its own
beside the answer's `created`. Requests without a result are calls without usage; results without a request have usage
alone. All calls are of the tier "batch".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hitledger.logs.captured.answers import status_of
from hitledger.logs.captured.capture import Capture
from hitledger.logs.captured.exchange import Exchange
from hitledger.logs.fields import count, first_text, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.types import Call, Place

FORMAT = "batch"
TIER = "batch"
ANSWER_OF = "answer of a call"
NOT_RUN = {"expired": 408, "batch_expired": 408, "canceled": 499, "batch_cancelled": 499}


@dataclass(slots=True)
class _Part:
    """One file: requests or results by custom id, with the row they stand on."""

    file: LogFile
    ledger: FileLedger
    requests: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    results: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)


def sniff(file: LogFile) -> bool:
    """Lines with a `custom_id` and a request or a result."""
    return any(_is_request(row) or _is_result(row) for row in file.head_rows())


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the requests, then what results are left."""
    parts = [_part(file, ingest.open(file.name, FORMAT)) for file in files]
    capture = Capture()
    for part in parts:
        source = _results_for(part, parts)
        for custom_id, (row, request) in part.requests.items():
            taken = source.results.pop(custom_id, None) if source else None
            if taken and source:
                source.ledger.known(ANSWER_OF)
            exchange = _exchange(custom_id, request, taken[1] if taken else None)
            if call := capture.call(exchange, Place(part.file.name, row), part.ledger):
                yield call
    for part in parts:
        for custom_id, (row, result) in part.results.items():
            exchange = _exchange(custom_id, None, result)
            if call := capture.call(exchange, Place(part.file.name, row), part.ledger):
                yield call


def _part(file: LogFile, ledger: FileLedger) -> _Part:
    part = _Part(file, ledger)
    for row in file.rows(ledger):
        side = part.requests if _is_request(row.data) else part.results if _is_result(row.data) else None
        if side is None:
            ledger.skip(row.number, "neither a request nor a result of a batch")
        elif row.data["custom_id"] in side:
            ledger.skip(row.number, f"custom_id {row.data['custom_id']!r:.80} comes twice in this file")
        else:
            side[row.data["custom_id"]] = (row.number, row.data)
    return part


def _results_for(part: _Part, parts: list[_Part]) -> _Part | None:
    """The file that holds most of the results of these requests; ids repeat from batch to batch."""
    found = max(parts, key=lambda other: len(part.requests.keys() & other.results.keys()), default=None)
    return found if found and part.requests.keys() & found.results.keys() else None


def _is_request(row: Any) -> bool:
    data = mapping(row)
    has_body = isinstance(data.get("body") or data.get("params"), Mapping)
    return isinstance(data.get("custom_id"), str) and has_body and "response" not in data


def _is_result(row: Any) -> bool:
    data = mapping(row)
    named = isinstance(data.get("custom_id"), str)
    return named and ("response" in data or "result" in data or "error" in data)


def _exchange(custom_id: str, request: Mapping[str, Any] | None, result: Mapping[str, Any] | None) -> Exchange:
    sent = mapping(request)
    response, outcome = mapping(mapping(result).get("response")), mapping(mapping(result).get("result"))
    answer = mapping(response.get("body") or outcome.get("message"))
    error = mapping(result).get("error") or outcome.get("error")
    not_run = NOT_RUN.get(first_text(outcome.get("type"), mapping(error).get("code")))
    status = count(response.get("status_code")) or not_run
    if not answer and isinstance(error, Mapping):
        inner = error.get("error")
        answer = {"error": inner if isinstance(inner, Mapping) else error}
        status = status or status_of(answer)
    body = sent.get("body") or sent.get("params")
    return Exchange(
        request=mapping(body) if request is not None else None,
        response=answer if result is not None else None,
        url=text(sent.get("url")),
        status=status,
        id=first_text(answer.get("id"), response.get("request_id"), custom_id),
        tier=TIER,
        notes=() if result is not None else ("no_result_in_batch",),
    )
