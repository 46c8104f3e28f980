"""Raw request and response bodies: lines of `{request, response}` in the common spellings, bare bodies, or a list.

Every prompt is the one that was sent, so the evidence is exact. What stands beside the bodies (times, headers,
session, status) is used where a row has it; a row without a session belongs to the session of its file.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.dialect import is_request, is_response
from hitledger.logs.envelope import exchange_in
from hitledger.logs.exchange import api_of_exchange, call_of
from hitledger.logs.fields import mapping
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.records import head_document, head_records, rows_or_records
from hitledger.logs.repeats import Repeats
from hitledger.segments import Layout
from hitledger.types import Call, Place

FORMAT = "bodies"
LIST_KEYS = ("requests", "calls", "exchanges", "pairs", "records", "items", "data", "logs")
# Keys of formats that hold such bodies too and say more about them: each has its own reader.
OTHER_FORMATS = frozenset(
    [
        *("logged_at", "custom_id", "schemaType", "call_type", "custom_llm_provider", "request_created_at", "run_type"),
        *("trajectory", "trajectory_format", "steps", "samples", "kwargs", "gen_ai", "span_id", "observations"),
        *("resourceSpans", "log", "lhar", "interactions", "usage_model", "request_file"),
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
    layout, repeats = Layout(), Repeats()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for number, record in rows_or_records(file, ledger, LIST_KEYS, _is_one):
            call = _call(record, Place(file.name, number), ledger, layout)
            if call is None:
                continue
            if repeats.has(call):
                ledger.known("same call")
                continue
            ledger.call()
            yield call


def _call(record: Any, place: Place, ledger: FileLedger, layout: Layout) -> Call | None:
    exchange = exchange_in(record) if isinstance(record, Mapping) else None
    if exchange is None:
        ledger.skip(place.row, "holds no request or response body that is known")
        return None
    api = api_of_exchange(exchange)
    if api is None and exchange.request is not None:
        ledger.known("no model call")
        return None
    call = call_of(exchange, place, layout, api)
    for note in call.notes:
        ledger.note(note)
    return call


def _is_one(document: Mapping[str, Any]) -> bool:
    """Whether a document is one exchange itself and not a holder of several."""
    return is_request(document) or is_response(document) or exchange_in(document) is not None
