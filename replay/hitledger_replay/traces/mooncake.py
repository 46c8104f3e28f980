"""Mooncake's format: one JSON object a line with `timestamp` (ms), `input_length`, `output_length`, `hash_ids`.

Published with the FAST'25 paper; Dynamo's exporter and kvcache-simulator use it too, some with `block_size` in each
row. Without it blocks are 512 tokens, the last one partial. Sessions are not named.
"""

from pathlib import Path
from typing import Any

import orjson

from hitledger_replay.traces.trace import Trace, TraceBuilder

BLOCK_SIZE = 512
MAX_LINE_BYTES = 1 << 26


def read_mooncake(path: Path, block_size: int | None = None) -> Trace:
    """Read one trace. `block_size` is for rows that do not say. Raises TraceError with the line."""
    builder: TraceBuilder | None = None
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if builder is None:
                builder = TraceBuilder(path.stem, path.name, _row_block_size(line) or block_size or BLOCK_SIZE)
            row = _row(builder, number, line)
            if row.get("block_size", builder.block_size) != builder.block_size:
                raise builder.fail(number, f"block size {row['block_size']!r} differs from {builder.block_size} above")
            timestamp = row.get("timestamp", 0)
            time = (
                timestamp / 1000
                if isinstance(timestamp, int | float) and not isinstance(timestamp, bool)
                else timestamp
            )
            builder.add(number, row.get("hash_ids"), (row.get("input_length"), row.get("output_length", 0)), time)
    return (builder or TraceBuilder(path.stem, path.name, BLOCK_SIZE)).build()


def _row_block_size(line: bytes) -> Any:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row.get("block_size") if isinstance(row, dict) else None


def _row(builder: TraceBuilder, number: int, line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise builder.fail(number, f"longer than {MAX_LINE_BYTES} bytes")
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise builder.fail(number, f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise builder.fail(number, f"a {type(row).__name__}, not an object")
    return row
