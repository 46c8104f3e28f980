"""Mooncake's format: one JSON object a line with `timestamp` (ms), `input_length`, `output_length`, `hash_ids`.

Published with the FAST'25 paper; Dynamo's exporter and kvcache-simulator use it too, some with `block_size` in each
row. Without it blocks are 512 tokens, the last one partial. Sessions are not named.
"""

from pathlib import Path
from typing import Any

import orjson

from hitledger_replay.errors import TraceError
from hitledger_replay.traces.trace import Trace, TraceBuilder, check_block_size

BLOCK_SIZE = 512
MAX_LINE_BYTES = 1 << 26


def read_mooncake(path: Path, block_size: int | None = None) -> Trace:
    """Read one trace. `block_size` is for rows that do not say. Raises TraceError with the line."""
    builder: TraceBuilder | None = None
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), 1):
            if not line.strip():
                continue
            row = _row(path.name, number, line)
            if builder is None:
                size = row.get("block_size", block_size or BLOCK_SIZE)
                builder = TraceBuilder(path.stem, path.name, check_block_size(size, f"{path.name}, line {number}"))
            if row.get("block_size", builder.block_size) != builder.block_size:
                raise builder.fail(number, f"block size {row['block_size']!r} differs from {builder.block_size} above")
            builder.add(number, row.get("hash_ids"), (row.get("input_length"), row.get("output_length", 0)), _time(row))
    return (builder or TraceBuilder(path.stem, path.name, BLOCK_SIZE)).build()


def _time(row: dict[str, Any]) -> Any:
    """Seconds, or whatever stands there."""
    timestamp = row.get("timestamp", 0)
    is_number = isinstance(timestamp, int | float) and not isinstance(timestamp, bool)
    return timestamp / 1000 if is_number else timestamp


def _row(file: str, number: int, line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise TraceError(f"{file}, line {number}: longer than {MAX_LINE_BYTES} bytes")
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise TraceError(f"{file}, line {number}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise TraceError(f"{file}, line {number}: a {type(row).__name__}, not an object")
    return row
