"""Raw request and response bodies: lines of `{request, response}` in the common spellings, bare bodies, or a list.

Every prompt is the one that was sent, so the evidence is exact. What stands beside the bodies (times, headers,
session, status) is used where a row has it; a row without a session belongs to the session of its file.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.captured.capture import Capture
from hitledger.logs.captured.dialect import is_request, is_response
from hitledger.logs.captured.envelope import exchange_in
from hitledger.logs.fields import mapping
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.records import head_document, head_records, rows_or_records
from hitledger.types import Call, Place

FORMAT = "bodies"
LIST_KEYS = ("requests", "calls", "exchanges", "pairs", "records", "items", "data", "logs")
# Keys of formats that hold such bodies too and say more about them: each has its own reader.
OTHER_FORMATS = frozenset(
    [
        *("logged_at", "custom_id", "schemaType", "call_type", "custom_llm_provider", "request_created_at", "run_type"),
        *("trajectory", "trajectory_format", "steps", "samples", "kwargs", "gen_ai", "span_id", "observations"),
        *("resourceSpans", "log", "lhar", "interactions", "usage_model", "request_file", "parentUuid", "session_start"),
        *("traceId", "usage_details", "spanContext", "dotted_order", "round_id"),
    ]
)


def sniff(file: LogFile) -> bool:
    """Rows, or records of one document, that are bodies or pairs of them and of no more special format."""
    if file.name.endswith((".request.json", ".response.json")):
        return False  # files of Claude Code's folder of raw bodies, whose reader joins them
    if OTHER_FORMATS & mapping(head_document(file)).keys():
        return False
    records = head_records(file, LIST_KEYS, _is_one)
    if any(OTHER_FORMATS & record.keys() for record in records):
        return False
    return any(exchange_in(record) is not None for record in records)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the input."""
    capture = Capture()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for number, record in rows_or_records(file, ledger, LIST_KEYS, _is_one):
            exchange = exchange_in(record) if isinstance(record, Mapping) else None
            if exchange is None:
                ledger.skip(number, "holds no request or response body that is known")
            elif call := capture.call(exchange, Place(file.name, number), ledger):
                yield call


def _is_one(document: Mapping[str, Any]) -> bool:
    """Whether a document is one exchange itself and not a holder of several."""
    return is_request(document) or is_response(document) or exchange_in(document) is not None
