"""kv-cache-tester's format: one JSON file for each Claude Code conversation, block ids local to the file.

Rows of type "subagent" hold requests of their own, with times from the sub-agent's start; they are put in order of
time among the others. Ids cover full blocks only, so the tokens behind the last one are never found.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from hitledger_replay.errors import TraceError
from hitledger_replay.traces.trace import Trace, TraceBuilder

MAX_FILE_BYTES = 1 << 30


def read_kvtester(path: Path) -> Trace:
    """Read one conversation. Raises TraceError with the number of the request, from 1, in file order."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise TraceError(f"{path.name}: larger than {MAX_FILE_BYTES} bytes")
    try:
        conversation = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise TraceError(f"{path.name}: not JSON: {error}") from error
    return conversation_trace(conversation, path)


def conversation_trace(conversation: Any, path: Path) -> Trace:
    """The trace in a parsed file."""
    if not isinstance(conversation, dict) or not isinstance(conversation.get("requests"), list):
        raise TraceError(f"{path.name}: no conversation with a list of requests")
    name = conversation.get("id", path.stem)
    builder = TraceBuilder(str(name), path.name, conversation.get("block_size", 64), place="request")
    rows = list(_requests(builder, conversation["requests"], 0.0, 0))
    _check_order(builder, rows)
    for position, (time, agent, row) in sorted(enumerate(rows, 1), key=lambda item: item[1][0]):
        builder.add(position, row.get("hash_ids"), (row.get("in"), row.get("out", 0)), time, agent)
    warm = [conversation.get(field) for field in ("tool_tokens", "system_tokens")]
    return builder.build(sum(tokens for tokens in warm if isinstance(tokens, int) and tokens > 0))


def _requests(
    builder: TraceBuilder, rows: list[Any], start: float, agent: int
) -> Iterator[tuple[float, int, dict[str, Any]]]:
    """(seconds, agent, row) of every request; agent 0 is the main one, its sub-agents are counted from 1."""
    subagents = 0
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("t"), int | float) or isinstance(row.get("t"), bool):
            raise TraceError(f"{builder.file}: a request without a time 't' in it")
        if isinstance(row.get("requests"), list):
            if agent:
                raise TraceError(f"{builder.file}: a sub-agent within a sub-agent")
            subagents += 1
            yield from _requests(builder, row["requests"], start + row["t"], subagents)
        else:
            yield start + row["t"], agent, row


def _check_order(builder: TraceBuilder, rows: list[tuple[float, int, dict[str, Any]]]) -> None:
    """Each agent's own requests are in order of time."""
    latest: dict[int, float] = {}
    for position, (time, agent, _) in enumerate(rows, 1):
        if time < latest.get(agent, 0.0):
            raise builder.fail(position, f"time {time} is before {latest.get(agent, 0.0)} in front of it")
        latest[agent] = time
