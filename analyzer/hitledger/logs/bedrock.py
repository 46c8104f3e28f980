"""Amazon Bedrock model invocation logs: records from S3, or exported from CloudWatch Logs.

Request and response bodies are exact up to 100 KB; larger ones are only named (an S3 path), and such a call has usage
alone. The usage in the response body leaves cached tokens out of the input; where only the record's own counts are
there, the same convention is assumed and noted. `timestamp` has whole seconds.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from hitledger.logs.captured.answers import usage_object
from hitledger.logs.captured.capture import NO_CALL, Capture
from hitledger.logs.captured.dialect import model_of_arn
from hitledger.logs.captured.exchange import Exchange
from hitledger.logs.captured.payloads import payload_of
from hitledger.logs.fields import count, first_text, items, mapping, parsed, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import after, instant
from hitledger.logs.values import opening, values
from hitledger.types import Call, Place

FORMAT = "bedrock"
SCHEMA = "ModelInvocationLog"
_COUNTS = {  # the record's own figures by the name the response body has for them
    "inputTokens": ("input", "inputTokenCount"),
    "cacheReadInputTokens": ("input", "cacheReadInputTokenCount"),
    "cacheWriteInputTokens": ("input", "cacheWriteInputTokenCount"),
    "outputTokens": ("output", "outputTokenCount"),
}
_STATUS = {"ThrottlingException": 429, "ValidationException": 400, "AccessDeniedException": 403}


def sniff(file: LogFile) -> bool:
    """Records with Bedrock's schema type, plain or as messages of CloudWatch events."""
    rows = file.head_rows()
    return any(_is_record(record) for value in rows or (opening(file),) for record in _records_in(value))


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the records. A caller (its ARN, as a digest) is one session unless the record names one."""
    capture = Capture(ids_are_unique=True)
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for number, record in enumerate(_records(file, ledger), start=1):
            if not _is_record(record):
                ledger.skip(number, "not a model invocation record")
                continue
            exchange = _exchange(record)
            if exchange.request is None and exchange.usage is None and exchange.status is None:
                ledger.known(NO_CALL)
            elif call := capture.call(exchange, Place(file.name, number), ledger):
                yield call


def _records(file: LogFile, ledger: FileLedger) -> Iterator[Any]:
    if len(file.head_rows()) > 1:
        for row in file.rows(ledger):
            found = _records_in(row.data)
            ledger.count_rows(len(found) - 1)  # the line itself is counted
            yield from found
        return
    for value in values(file, ledger):
        found = _records_in(value.data)
        ledger.count_rows(len(found))
        yield from found[:-1] if value.cut else found
        if value.cut:
            ledger.skip(len(found), "the file ends inside this record")


def _records_in(value: Any) -> list[Any]:
    """The records of one JSON value: itself, a list, CloudWatch events, or results of a Logs Insights query."""
    if isinstance(value, list):
        return value
    data = mapping(value)
    if "results" in data:
        return [
            _message({mapping(cell).get("field"): mapping(cell).get("value") for cell in items(row)})
            for row in items(data["results"])
        ]
    if "events" in data:
        return [_message(event) for event in items(data["events"])]
    return [_message(value)]


def _message(event: Any) -> Any:
    """The record inside a CloudWatch event, the event itself where it is none."""
    data = mapping(event)
    inner = parsed(data.get("@message") or data.get("message"))
    return event if inner is None else inner


def _is_record(record: Any) -> bool:
    data = mapping(record)
    return data.get("schemaType") == SCHEMA and "modelId" in data


def _exchange(record: Mapping[str, Any]) -> Exchange:
    sent, received = mapping(record.get("input")), mapping(record.get("output"))
    request, answer = payload_of(sent.get("inputBodyJson")), payload_of(received.get("outputBodyJson"))
    started = instant(record.get("timestamp"))
    in_body = usage_object(answer.body) if answer.body else None
    counts = _counts(record)
    usage = counts if in_body is None else {**counts, **in_body} if "inputTokens" in in_body else in_body
    notes = ["start_estimated"] if started else []
    notes += ["input_convention_assumed"] if in_body is None and counts.get("cacheReadInputTokens") else []
    notes += ["body_stored_elsewhere"] if request.body is None and sent.get("inputBodyS3Path") else []
    model = model_of_arn(text(record.get("modelId")))
    return Exchange(
        request=request.body,
        response=answer.body or ({} if counts else None),
        url=_url(record, model),
        status=_status(record),
        started_at=started,
        ended_at=after(started, mapping(mapping(answer.body).get("metrics")).get("latencyMs")),
        id=text(record.get("requestId")),
        session=_session(record),
        model=model,
        upstream=text(record.get("inferenceRegion")),
        usage=usage or None,
        notes=(*notes, *request.notes, *answer.notes),
    )


def _url(record: Mapping[str, Any], model: str) -> str:
    """The address it was sent to; a Converse operation has its own, all others say by their shape what they are."""
    path = "converse" if text(record.get("operation")).startswith("Converse") else "invoke"
    region = text(record.get("region")) or "unknown"
    return f"https://bedrock-runtime.{region}.amazonaws.com/model/{model}/{path}"


def _counts(record: Mapping[str, Any]) -> Mapping[str, Any]:
    found = {name: mapping(record.get(side)).get(key) for name, (side, key) in _COUNTS.items()}
    return {name: value for name, value in found.items() if value is not None}


def _status(record: Mapping[str, Any]) -> int | None:
    code = text(record.get("errorCode"))
    return _STATUS.get(code, 500) if code else count(record.get("statusCode"))


def _session(record: Mapping[str, Any]) -> str:
    metadata = mapping(record.get("requestMetadata"))
    named = first_text(metadata.get("session_id"), metadata.get("sessionId"), metadata.get("conversation_id"))
    caller = text(mapping(record.get("identity")).get("arn"))
    return named or f"caller {blake2b(caller.encode(errors='replace'), digest_size=4).hexdigest()}"
