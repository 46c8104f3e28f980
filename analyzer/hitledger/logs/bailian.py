"""Qwen-Bailian traces: lines of `{chat_id, parent_chat_id, timestamp, input_length, output_length, type, turn, hash_ids}`.

Blocks of 16 tokens, ids global, times in seconds since the start of the trace. A conversation is the chain of
`parent_chat_id` up to a root (-1).
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from hitledger.logs.fields import count, mapping
from hitledger.logs.files import LogFile
from hitledger.logs.hash_blocks import EPOCH, NOTE, HashPrompts, is_hash_ids
from hitledger.logs.ingest import Ingest
from hitledger.logs.values import opening
from hitledger.types import Call, Evidence, Place, Usage

FORMAT = "bailian"
BLOCK_TOKENS = 16
KEYS = frozenset({"chat_id", "timestamp", "input_length", "hash_ids"})


def sniff(file: LogFile) -> bool:
    """Whether its first row has the fields of a request."""
    first = mapping(opening(file))
    return first.keys() >= KEYS and is_hash_ids(first["hash_ids"])


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """One call a row."""
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        roots: dict[int, int] = {}
        prompts = HashPrompts(FORMAT, BLOCK_TOKENS)
        for row in file.rows(ledger):
            call = _call(mapping(row.data), Place(file.name, row.number), roots, prompts)
            if call is None:
                ledger.skip(row.number, "no request: chat_id, time, length or hash_ids missing or of the wrong type")
                continue
            ledger.call()
            yield call


def _call(fields: Mapping[str, Any], place: Place, roots: dict[int, int], prompts: HashPrompts) -> Call | None:
    at, given, chat = fields.get("timestamp"), count(fields.get("input_length")), fields.get("chat_id")
    if (
        type(at) not in (int, float)
        or given is None
        or type(chat) is not int
        or not is_hash_ids(fields.get("hash_ids"))
    ):
        return None
    parent = fields.get("parent_chat_id")
    root = roots[chat] = roots.get(parent, chat) if type(parent) is int else chat
    return Call(
        id=str(chat),
        session=str(root),
        agent="main",
        place=place,
        provider="",  # so no provider's rule applies: a trace has the engine's columns alone
        model="",
        evidence=Evidence.USAGE_ONLY,
        prompt=prompts.prompt(fields["hash_ids"], given),
        started_at=EPOCH + timedelta(seconds=min(max(float(at or 0), 0.0), 1e9)),
        usage=Usage(given, None, None, count(fields.get("output_length"))),
        notes=(NOTE,),
    )
