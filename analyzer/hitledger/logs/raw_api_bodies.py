"""Claude Code's folder of raw bodies: `OTEL_LOG_RAW_API_BODIES=file:<dir>`.

A folder holds `<uuid>.request.json`, `<request id>.response.json` and, since 2.1.274, `index.jsonl` that joins them.
Requests are complete except that thinking is written as `<REDACTED>`. Without the index a response is joined to its
request by what a later request quotes of it; times are then unknown, because no file holds one.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from hitledger.errors import NothingToReadError
from hitledger.logs.captured.answer_joins import Asked, join_answers
from hitledger.logs.captured.capture import UNREADABLE, Capture
from hitledger.logs.captured.dialect import is_request, is_response
from hitledger.logs.captured.exchange import Exchange
from hitledger.logs.captured.identity import side_agent
from hitledger.logs.fields import first_text, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.records import head_document
from hitledger.segments import Api, Layout
from hitledger.types import Call, Place

FORMAT = "claude-code-raw-bodies"
REQUEST, RESPONSE = ".request.json", ".response.json"
PURPOSES = {"compact": "compaction", "generate_session_title": "title"}
MAIN_SOURCES = ("repl_main_thread", "sdk")  # what a person or a script asked for; others are sub-agents or side calls


@dataclass(slots=True)
class _Folder:
    """The files of one folder, by name."""

    indexes: list[LogFile] = field(default_factory=list)
    requests: dict[str, LogFile] = field(default_factory=dict)
    responses: dict[str, LogFile] = field(default_factory=dict)
    ledgers: dict[str, FileLedger] = field(default_factory=dict)


def sniff(file: LogFile) -> bool:
    """An index of bodies, or a single body in a file of such a folder."""
    if any("request_file" in row for row in file.head_rows() if isinstance(row, Mapping)):
        return True
    if file.name.endswith(REQUEST):
        return is_request(head_document(file))
    if not file.name.endswith(RESPONSE):
        return False
    document = head_document(file)
    return is_response(document) or "error" in mapping(document)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the index, then those it does not name. A call is counted at its request's file."""
    folders: dict[str, _Folder] = defaultdict(_Folder)
    for file in files:
        path = PurePath(file.name)
        folder = folders[str(path.parent)]
        folder.ledgers[path.name] = ingest.open(file.name, FORMAT)
        if path.name.endswith(REQUEST):
            folder.requests[path.name] = file
        elif path.name.endswith(RESPONSE):
            folder.responses[path.name] = file
        else:
            folder.indexes.append(file)
    capture = Capture(ids_are_unique=True)
    for folder in folders.values():
        yield from _indexed(folder, capture)
        yield from _not_indexed(folder, capture)


def _indexed(folder: _Folder, capture: Capture) -> Iterator[Call]:
    for index in folder.indexes:
        ledger = folder.ledgers[PurePath(index.name).name]
        for row in index.rows(ledger):
            entry = mapping(row.data)
            request = folder.requests.pop(_name(entry.get("request_file")), None)
            if request is None:
                ledger.skip(row.number, "names a request file that is not there")
                continue
            ledger.known("index entry")
            body = _body(folder, request)
            if body is None:
                continue
            response = folder.responses.pop(_name(entry.get("response_file")), None)
            answer = _body(folder, response, "answer of a call") if response else None
            if call := _counted(folder, request, _exchange(body, answer, entry), capture):
                yield call


def _not_indexed(folder: _Folder, capture: Capture) -> Iterator[Call]:
    asked = [found for name in sorted(folder.requests) if (found := _asked(folder, name, capture.layout)) is not None]
    answers = {
        name: body for name, file in sorted(folder.responses.items()) if (body := _body(folder, file)) is not None
    }
    joined = join_answers(asked, answers)
    for request in asked:
        name = joined.get(request.name)
        if name:
            folder.ledgers[name].known("answer of a call")
        exchange = _exchange(request.body, answers.get(name or ""), {"request_id": (name or "").removesuffix(RESPONSE)})
        if call := _counted(folder, folder.requests[request.name], exchange, capture):
            yield call
    for name in answers.keys() - set(joined.values()):
        folder.ledgers[name].known("answer whose request is not known")
        folder.ledgers[name].note("usage of an answer is left out: no request could be joined to it")


def _asked(folder: _Folder, name: str, layout: Layout) -> Asked | None:
    body = _body(folder, folder.requests[name])
    if body is None:
        return None
    try:
        return Asked(name, body, layout.prompt(body, Api.MESSAGES))
    except UNREADABLE as error:
        folder.ledgers[name].skip(1, f"the body cannot be laid out: {error}")
        return None


def _counted(folder: _Folder, file: LogFile, exchange: Exchange, capture: Capture) -> Call | None:
    ledger = folder.ledgers[PurePath(file.name).name]
    return capture.laid_out(exchange, Place(file.name, 1), ledger, Api.MESSAGES)


def _exchange(body: Mapping[str, Any], answer: Mapping[str, Any] | None, entry: Mapping[str, Any]) -> Exchange:
    moment = instant(entry.get("timestamp"))
    source = text(entry.get("query_source"))
    agent = first_text(entry.get("agent_id"), source) if source.startswith("agent") else side_agent(body)
    return Exchange(
        request=body,
        response=answer,
        started_at=moment,
        id=first_text(entry.get("request_id"), mapping(answer).get("id")),
        session=text(entry.get("session_id")),
        agent=agent,
        parent_agent="main" if agent else "",
        purpose="" if source.startswith((*MAIN_SOURCES, "agent")) else PURPOSES.get(source, source),
        notes=("start_estimated",) if moment else (),
    )


def _body(folder: _Folder, file: LogFile, known: str = "") -> Mapping[str, Any] | None:
    """The body in a file, its row counted; `known` is what the row is known as, "" where the caller says."""
    ledger = folder.ledgers[PurePath(file.name).name]
    ledger.count_rows()
    try:
        document = file.document()
    except NothingToReadError as error:
        ledger.skip(1, str(error).removeprefix(f"{file.name}: "))
        return None
    if not isinstance(document, Mapping):
        ledger.skip(1, "not an object")
        return None
    if known:
        ledger.known(known)
    return document


def _name(value: Any) -> str:
    return PurePath(text(value)).name
