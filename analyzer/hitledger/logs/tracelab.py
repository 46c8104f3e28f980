"""TraceLab round traces: one row a model call with its usage and the times of its events, without text.

Derived from Claude Code and Codex logs. `input_tokens_total` is the whole prompt, `prefix_tokens` what was read from the
cache; for Claude the written tokens are counted apart. The times are those of the log it was derived from.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from hitledger.logs.fields import count, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.providers import provider_of
from hitledger.types import CacheWrite, Call, Evidence, Place, Prompt, Usage

FORMAT = "tracelab"
KEYS = frozenset({"round_index", "round_id", "input_tokens_total", "prefix_tokens", "timing_events"})
INPUT_EVENTS = frozenset({"user_message", "tool_result"})


def sniff(file: LogFile) -> bool:
    """Whether its first row is a round."""
    return mapping(opening(file)).keys() >= KEYS


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """One call a round; a round that is in two files counts once."""
    seen: set[tuple[str, str]] = set()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            ledger.count_rows()
            fields = mapping(value.data)
            if value.cut:
                ledger.skip(value.number, "the file ends inside this round")
            elif not {"round_id", "timing_events"} <= fields.keys():
                ledger.skip(value.number, "no round: round_id or timing_events missing")
            else:
                yield from _call(fields, Place(file.name, value.number), ledger, seen)


def _call(fields: Mapping[str, Any], place: Place, ledger: FileLedger, seen: set[tuple[str, str]]) -> Iterator[Call]:
    key = text(fields.get("session_id")), str(fields.get("round_id"))
    if key in seen:
        ledger.known("same call")
        return
    seen.add(key)
    ledger.call()
    usage = _usage(fields)
    notes = ("start_estimated",) if usage else ("start_estimated", "usage_missing")
    for note in notes:
        ledger.note(note)
    started, ended = _times(items(fields.get("timing_events")))
    model = text(fields.get("model"))
    yield Call(
        id=key[1],
        session=key[0],
        agent="main",
        place=place,
        provider=provider_of(model),
        model=model,
        evidence=Evidence.USAGE_ONLY,
        prompt=Prompt(()),
        started_at=started,
        ended_at=ended,
        usage=usage,
        events=("user_turn",) if count(fields.get("current_user_message_count")) else (),
        project=text(fields.get("project")),
        notes=notes,
    )


def _usage(fields: Mapping[str, Any]) -> Usage | None:
    """Claude's three classes as logged; for others the prefix is the cached part of the total."""
    output = count(fields.get("output_tokens"))
    uncached = count(fields.get("claude_uncached_input_tokens"))
    read = count(fields.get("claude_cache_read_input_tokens"))
    written = count(fields.get("claude_cache_creation_input_tokens"))
    if uncached is not None:
        return Usage(uncached, read, None if written is None else _writes(written), output)
    total, prefix = count(fields.get("input_tokens_total")), count(fields.get("prefix_tokens"))
    if total is None:
        return None
    return Usage(max(0, total - (prefix or 0)), prefix, None, output)


def _writes(tokens: int) -> tuple[CacheWrite, ...]:
    return (CacheWrite("", tokens),) if tokens else ()


def _times(events: list[Any]) -> tuple[datetime | None, datetime | None]:
    """The last input before the model answered, the best lower bound of the start; and the last thing it wrote."""
    start: datetime | None = None
    end: datetime | None = None
    for event in (mapping(event) for event in events):
        at = instant(event.get("timestamp"))
        is_input = text(event.get("event_type")) in INPUT_EVENTS
        if is_input and end is None:
            start = at or start
        elif not is_input and at is not None:
            end = at
    return start, end
