"""LHAR, the LLM HTTP archive of context-lens: `.lhar` lines or one `.lhar.json` document.

Prompts are in the file only with `CONTEXT_LENS_PRIVACY=full`; otherwise a call has its usage alone. `input_tokens`
leaves the cached and written tokens out. Costs are the tool's own estimate, kept as the logged cost.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.captured.capture import Capture
from hitledger.logs.captured.exchange import Exchange
from hitledger.logs.captured.identity import safe_headers
from hitledger.logs.captured.payloads import payload_of
from hitledger.logs.fields import count, dollars, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import after, instant
from hitledger.logs.records import head_document, records_under
from hitledger.types import Call, Place

FORMAT = "lhar"


def sniff(file: LogFile) -> bool:
    """Entry lines with `gen_ai`, or the document `{lhar: {entries}}`."""
    if isinstance(mapping(mapping(head_document(file)).get("lhar")).get("entries"), list):
        return True
    return any(_is_entry(row) for row in file.head_rows())


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the entries; the trace is the session, sub-agents are agents of it."""
    capture = Capture(ids_are_unique=True)
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for number, entry in _entries(file, ledger):
            if mapping(entry).get("type") == "session":
                ledger.known("session")
                continue
            if not _is_entry(entry):
                ledger.skip(number, "not an entry of LHAR")
            elif call := capture.call(_exchange(entry), Place(file.name, number), ledger):
                yield call


def _entries(file: LogFile, ledger: FileLedger) -> Iterator[tuple[int, Any]]:
    if "lhar" in mapping(head_document(file)):
        yield from records_under(file, ledger, ("lhar", "entries"))
    else:
        yield from ((row.number, row.data) for row in file.rows(ledger))


def _is_entry(row: Any) -> bool:
    data = mapping(row)
    return data.get("type") == "entry" and isinstance(data.get("gen_ai"), Mapping) and "trace_id" in data


def _exchange(entry: Mapping[str, Any]) -> Exchange:
    gen_ai, extra = mapping(entry.get("gen_ai")), mapping(entry.get("usage_ext"))
    http, raw, timings = mapping(entry.get("http")), mapping(entry.get("raw")), mapping(entry.get("timings"))
    sent, received = payload_of(raw.get("request_body")), payload_of(raw.get("response_body"))
    started = instant(entry.get("timestamp"))
    figures = mapping(gen_ai.get("usage"))
    usage = {key: value for key, value in (*figures.items(), *extra.items()) if key != "total_tokens"}
    return Exchange(
        request=sent.body,
        response=received.body or {"model": mapping(gen_ai.get("response")).get("model")},
        url=text(http.get("url")),
        status=count(http.get("status_code")),
        request_headers=safe_headers(http.get("request_headers")),
        response_headers=safe_headers(http.get("response_headers")),
        started_at=started,
        first_token_at=after(started, _sum(timings, "send_ms", "wait_ms")),
        ended_at=after(started, timings.get("total_ms")),
        id=text(entry.get("id")),
        session=text(entry.get("trace_id")),
        agent=_agent(entry),
        parent_agent="main" if _agent(entry) != "main" else "",
        model=text(mapping(gen_ai.get("request")).get("model")),
        usage=usage if figures else None,
        inclusive=False,
        logged_cost=dollars(extra.get("cost_usd")),
        notes=sent.notes + received.notes,
    )


def _agent(entry: Mapping[str, Any]) -> str:
    """ "main", or the span that the sub-agent's entries share."""
    if mapping(entry.get("source")).get("agent_role") != "subagent":
        return "main"
    return text(entry.get("parent_span_id")) or text(entry.get("span_id")) or "subagent"


def _sum(timings: Mapping[str, Any], *names: str) -> float | None:
    parts = [float(part) for name in names if isinstance(part := timings.get(name), int | float)]
    return sum(parts) if len(parts) == len(names) else None
