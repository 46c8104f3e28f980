"""kv-cache-tester's format: one JSON file for each Claude Code conversation, block ids local to the file.

Rows of type "subagent" hold requests of their own, with times from the sub-agent's start; they are put in order of
time among the others. Ids cover full blocks only, so the tokens behind the last one are never found.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from hitledger_replay.errors import TraceError
from hitledger_replay.traces.trace import Trace, TraceBuilder

MAX_FILE_BYTES = 1 << 30


class Agent(NamedTuple):
    """The main one is number 0, its sub-agents are counted from 1. `path` leads to its list of requests."""

    number: int
    start: float
    path: str


class Request(NamedTuple):
    """A row and where it stands: JSON path, seconds from the conversation's start, number of its agent."""

    path: str
    time: float
    agent: int
    row: dict[str, Any]


def read_kvtester(path: Path) -> Trace:
    """Read one conversation. Raises TraceError with the JSON path of the request."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise TraceError(f"{path.name}: larger than {MAX_FILE_BYTES} bytes")
    try:
        conversation = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise TraceError(f"{path.name}: not JSON: {error}") from error
    return conversation_trace(conversation, path)


def conversation_trace(conversation: Any, file: Path) -> Trace:
    """The trace in a parsed file."""
    if not isinstance(conversation, dict) or not isinstance(conversation.get("requests"), list):
        raise TraceError(f"{file.name}: no conversation with a list of requests")
    name = conversation.get("id", file.stem)
    builder = TraceBuilder(str(name), file.name, conversation.get("block_size", 64), place="at")
    rows = list(_requests(builder, conversation["requests"], Agent(0, 0.0, "")))
    _check_order(builder, rows)
    for path, time, agent, row in sorted(rows, key=lambda request: request.time):
        builder.add(path, row.get("hash_ids"), (row.get("in"), row.get("out", 0)), time, agent)
    warm = [conversation.get(field) for field in ("tool_tokens", "system_tokens")]
    return builder.build(sum(tokens for tokens in warm if isinstance(tokens, int) and tokens > 0))


def _requests(builder: TraceBuilder, rows: list[Any], agent: Agent) -> Iterator[Request]:
    """Every request in file order, those of sub-agents where their row stands."""
    subagents = 0
    for index, row in enumerate(rows):
        path = f"{agent.path}requests[{index}]"
        time = row.get("t") if isinstance(row, dict) else None
        if isinstance(time, bool) or not isinstance(time, int | float):
            raise builder.fail(path, "no request with a time 't' in seconds")
        if isinstance(row.get("requests"), list):
            if agent.number:
                raise builder.fail(path, "a sub-agent within a sub-agent")
            subagents += 1
            yield from _requests(builder, row["requests"], Agent(subagents, agent.start + time, f"{path}."))
        else:
            yield Request(path, agent.start + time, agent.number, row)


def _check_order(builder: TraceBuilder, rows: list[Request]) -> None:
    """Each agent's own requests are in order of time."""
    latest: dict[int, float] = {}
    for path, time, agent, _ in rows:
        if time < latest.get(agent, 0.0):
            raise builder.fail(path, f"time {time} is before {latest.get(agent, 0.0)} in front of it")
        latest[agent] = time
