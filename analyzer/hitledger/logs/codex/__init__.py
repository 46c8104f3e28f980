"""Codex rollouts (`~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`).

A call is a change of the cumulative totals that `token_count` rows carry (each is written twice). The rollout holds the
base instructions and the items sent, not the tools, so prompts are reconstructed behind one hidden segment.
"""

from collections.abc import Iterator

from hitledger.logs.codex.rollout import Counted, Rollout
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.types import Call

FORMAT = "codex"
ROW_TYPES = frozenset({"compacted", "event_msg", "response_item", "session_meta", "turn_context", "world_state"})
PARENT_KEYS = (b'"forked_from_id":"', b'"parent_thread_id":"')


def sniff(file: LogFile) -> bool:
    """Whether one of the first rows is an envelope that only Codex writes."""
    return any(
        isinstance(row, dict) and str(row.get("type")) in ROW_TYPES and isinstance(row.get("payload"), dict)
        for row in file.head_rows()
    )


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls of all rollouts. The rollout of a fork or a sub-agent replays that of its parent, and is read after it."""
    counted: Counted = {}
    for file in sorted(files, key=_has_parent):
        ledger = ingest.open(file.name, FORMAT)
        yield from Rollout(file, ledger, counted).calls()


def _has_parent(file: LogFile) -> bool:
    head = file.head()
    return any(key in head for key in PARENT_KEYS)
