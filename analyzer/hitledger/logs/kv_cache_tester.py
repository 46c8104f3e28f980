"""kv-cache-tester traces: one document a session, requests with the hashes of their 64-token blocks, sub-agents nested.

`in` is the whole prompt and no cache figures are logged. Times are seconds since the start of the session, which has no
date; `t` is when the request was sent.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from hitledger.logs.fields import count, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.hash_blocks import EPOCH, NOTE, HashPrompts, is_hash_ids
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import after
from hitledger.logs.records import numbered
from hitledger.logs.values import opening, values
from hitledger.types import Call, Evidence, Place, Usage

FORMAT = "kv-cache-tester"
SUBAGENT = "subagent"
MAX_SECONDS = 1e9


def sniff(file: LogFile) -> bool:
    """Whether it is a session: a block size, a scope of the ids and requests."""
    first = mapping(opening(file))
    return {"id", "block_size", "hash_id_scope"} <= first.keys() and isinstance(first.get("requests"), list)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """The calls of each session in the order of their start, sub-agents' among them."""
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            calls = _session_calls(mapping(value.data), ledger, value.cut)
            yield from sorted(calls, key=lambda call: call.started_at or EPOCH)


def _session_calls(document: Mapping[str, Any], ledger: FileLedger, cut: bool) -> Iterator[Call]:
    found = list(_flat(items(document.get("requests")), 0.0, ""))
    name = text(document.get("id")) or ledger.file
    scope = FORMAT if document.get("hash_id_scope") == "global" else f"{FORMAT}:{name}"
    prompts = HashPrompts(scope, count(document.get("block_size")) or 64)
    for row, (record, start, agent) in numbered(found, cut, ledger, "request"):
        call = _call(record, Place(ledger.file, row), start, agent, name, prompts)
        if mapping(record).get("type") == SUBAGENT:
            ledger.known("sub-agent")
        elif call is None:
            ledger.skip(row, "no request: time, length or hash_ids missing or of the wrong type")
        else:
            ledger.call()
            yield call


def _flat(records: list[Any], start: float, agent: str) -> Iterator[tuple[Any, float, str]]:
    """Records with the start of their clock and their agent; a sub-agent's requests count from its own start."""
    for record in records:
        yield record, start, agent
        fields = mapping(record)
        if fields.get("type") == SUBAGENT and not agent:
            inner = start + (_seconds(fields.get("t")) or 0.0)
            yield from _flat(items(fields.get("requests")), inner, text(fields.get("agent_id")) or SUBAGENT)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_SECONDS:
        return None
    return float(value)


def _call(record: Any, place: Place, start: float, agent: str, session: str, prompts: HashPrompts) -> Call | None:
    fields = mapping(record)
    at, given, ids = _seconds(fields.get("t")), count(fields.get("in")), fields.get("hash_ids")
    if at is None or given is None or not isinstance(ids, list) or not is_hash_ids(ids):
        return None
    model = text(fields.get("model"))
    started = EPOCH + timedelta(seconds=start + at)
    took, waited = _seconds(fields.get("api_time")), _seconds(fields.get("ttft"))
    return Call(
        id=f"{session}:{place.row}",
        session=session,
        agent=agent or "main",
        parent_agent="main" if agent else "",
        place=place,
        provider="",  # so no provider's rule applies: a trace has the engine's columns alone
        model=model,
        evidence=Evidence.USAGE_ONLY,
        prompt=prompts.prompt(ids, given),
        started_at=started,
        first_token_at=after(started, None if waited is None else waited * 1000),
        ended_at=after(started, None if took is None else took * 1000),
        usage=Usage(given, None, None, count(fields.get("out"))),
        events=("user_turn",) if "text" in items(fields.get("input_types")) else (),
        notes=(NOTE,),
    )
