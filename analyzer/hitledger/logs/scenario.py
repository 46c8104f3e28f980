"""Scenario files: one JSON document with the requests of a small session and, optionally, the verdict expected.

Each request holds its complete body and usage, so the evidence is exact. The file's `engine` says what served it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.captured.capture import Capture
from hitledger.logs.captured.exchange import Exchange
from hitledger.logs.captured.identity import safe_headers
from hitledger.logs.fields import count, first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.instants import instant
from hitledger.logs.records import head_document, records_under, whole_or_cut
from hitledger.segments import Api
from hitledger.types import Call, EngineHint, Place

FORMAT = "scenario"
APIS = {
    "anthropic-messages": Api.MESSAGES,
    "openai-chat": Api.CHAT,
    "openai-responses": Api.RESPONSES,
    "token-ids": None,
}
KIND = "provider"
BLOCK_TOKENS = 16


def sniff(file: LogFile) -> bool:
    """A document with one of our `format` names and requests that hold a body."""
    document = mapping(head_document(file))
    requests = items(document.get("requests"))
    return text(document.get("format")) in APIS and any("body" in mapping(request) for request in requests)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the requests; refused requests are calls without usage."""
    for file in files:
        capture = Capture()  # ids are the file's own
        ledger = ingest.open(file.name, FORMAT)
        document = mapping(whole_or_cut(file)[0])
        api = APIS.get(text(document.get("format")))
        for number, request in records_under(file, ledger, ("requests",)):
            body = mapping(request).get("body")
            if not isinstance(body, Mapping):
                ledger.skip(number, "a request without a body")
                continue
            exchange = _exchange(mapping(request), body, engine_of(document.get("engine")), text(document.get("id")))
            if call := capture.laid_out(exchange, Place(file.name, number), ledger, api):
                yield call


def _exchange(row: Mapping[str, Any], body: Mapping[str, Any], engine: EngineHint | None, scenario: str) -> Exchange:
    """`scenario` goes before the session: sessions of different files have nothing to do with each other."""
    return Exchange(
        request=body,
        response=None,
        status=count(row.get("status")),
        response_headers=safe_headers(row.get("response_headers")),
        started_at=instant(row.get("timestamp")),
        first_token_at=instant(row.get("first_token_at")),
        id=text(row.get("request_id")),
        session="/".join(filter(None, (scenario, text(row.get("session_id"))))),
        agent=text(row.get("agent")),
        purpose=text(row.get("purpose")),
        upstream=text(row.get("response_provider")),
        usage=row["usage"] if isinstance(row.get("usage"), Mapping) else None,
        generated_text=_generated(row.get("generation")),
        generated_ids=_ids(row.get("output_token_ids")),
        engine=engine,
        events=_events(row),
    )


def engine_of(hint: Any) -> EngineHint | None:
    """The `engine` object of a log, None where it has none."""
    if not isinstance(hint, Mapping):
        return None
    return EngineHint(
        kind=text(hint.get("kind")) or KIND,
        block_tokens=count(hint.get("block_tokens")) or BLOCK_TOKENS,
        render_order=_names(hint.get("render_order")),
        caches_generated_tokens=hint.get("caches_generated_tokens") is True,
        chat_template=text(hint.get("chat_template")) or None,
        special_tokens=_names(hint.get("special_tokens")),
        tokenizer=text(hint.get("tokenizer")) or "o200k_base",
    )


def _generated(generation: Any) -> str | None:
    """The text the model produced, its tool arguments where it called a tool."""
    if isinstance(generation, str):
        return generation
    row = mapping(generation)
    return first_text(row.get("text"), row.get("tool_arguments")) or None


def _events(row: Mapping[str, Any]) -> tuple[str, ...]:
    return ("resume",) if row.get("resumed") is True or row.get("history_reloaded") is True else ()


def _ids(value: Any) -> tuple[int, ...]:
    ids = items(value)
    return tuple(ids) if all(type(token) is int for token in ids) else ()


def _names(value: Any) -> tuple[str, ...]:
    return tuple(name for name in items(value) if isinstance(name, str))
