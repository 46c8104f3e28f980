"""Mooncake traces: lines of `{timestamp, input_length, output_length, hash_ids}`, blocks of 512 tokens, ids global.

Times are milliseconds since the start of the trace, which has no date: only the distances between them mean something.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from hitledger.logs.fields import count, mapping
from hitledger.logs.files import LogFile
from hitledger.logs.hash_blocks import EPOCH, NOTE, HashPrompts, is_hash_ids
from hitledger.logs.ingest import Ingest
from hitledger.logs.values import opening
from hitledger.types import Call, Evidence, Place, Usage

FORMAT = "mooncake"
BLOCK_TOKENS = 512
KEYS = frozenset({"timestamp", "input_length", "output_length", "hash_ids"})
OTHER = frozenset({"chat_id", "type", "turn"})  # of Bailian traces


def sniff(file: LogFile) -> bool:
    """Whether its first row has the fields of a request."""
    first = mapping(opening(file))
    return first.keys() >= KEYS and not OTHER & first.keys() and is_hash_ids(first["hash_ids"])


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """One call a row. The trace has no sessions: all calls of a file belong to one."""
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        prompts = HashPrompts(FORMAT, BLOCK_TOKENS)
        for row in file.rows(ledger):
            call = _call(row.data, Place(file.name, row.number), prompts)
            if call is None:
                ledger.skip(row.number, "no request: timestamp, lengths or hash_ids missing or of the wrong type")
                continue
            ledger.call()
            yield call


def _call(record: Any, place: Place, prompts: HashPrompts) -> Call | None:
    fields = mapping(record)
    at, given = count(fields.get("timestamp")), count(fields.get("input_length"))
    if at is None or given is None or not is_hash_ids(fields.get("hash_ids")):
        return None
    return Call(
        id=f"{place.file}:{place.row}",
        session=place.file,
        agent="main",
        place=place,
        provider="",  # so no provider's rule applies: a trace has the engine's columns alone
        model="",
        evidence=Evidence.USAGE_ONLY,
        prompt=prompts.prompt(fields["hash_ids"], given),
        started_at=EPOCH + timedelta(milliseconds=min(at, 10**12)),
        usage=Usage(given, None, None, count(fields.get("output_length"))),
        notes=(NOTE,),
    )
