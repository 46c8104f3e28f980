"""Traces: sequences of prompts as block ids, read from the formats other projects publish and from our own audits."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hitledger.errors import NothingToReadError
from hitledger_replay.errors import TraceError
from hitledger_replay.traces.kvtester import read_kvtester
from hitledger_replay.traces.mooncake import read_mooncake
from hitledger_replay.traces.trace import Trace

HEAD_BYTES = 1 << 16


def read_traces(paths: Iterable[str], block_sizes: Sequence[int | None] = (None,)) -> Iterator[Trace]:
    """Read files and folders (their *.json and *.jsonl) one after the other; one trace is in memory at a time.

    Each trace comes once for each of `block_sizes`, coarsened where its own blocks are finer; None is its own size.
    Raises NothingToReadError for a path with no trace and TraceError for two traces of one name.
    """
    seen: set[str] = set()
    for path in _files(paths):
        for turn, block_size in enumerate(block_sizes):
            trace = read_trace(path, block_size)
            if turn == 0 and trace.name in seen:
                raise TraceError(f"{path.name}: a second trace with the id {trace.name!r}; give each trace once")
            seen.add(trace.name)
            yield trace if block_size in (None, trace.block_size) else trace.coarsen(int(block_size or 0))


def read_trace(path: Path, block_size: int | None = None) -> Trace:
    """Read one file, its format decided by its first bytes."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if b'"hash_id_scope"' in head or b'"requests"' in head:
        return read_kvtester(path)
    if path.suffix == ".jsonl" or b'"hash_ids"' in head:
        return read_mooncake(path)
    from hitledger_replay.traces.audit import BLOCK_SIZE, read_audit  # its reader is slow to import, and rarely used

    try:
        return read_audit(path, block_size or BLOCK_SIZE)
    except NothingToReadError as error:
        raise NothingToReadError(f"{error}; nor is it a trace of Mooncake or kv-cache-tester") from error


def _files(paths: Iterable[str]) -> Iterator[Path]:
    for name in paths:
        path = Path(name)
        found = (
            sorted(file for file in path.iterdir() if file.suffix in (".json", ".jsonl")) if path.is_dir() else [path]
        )
        if not name or not found or not found[0].is_file():
            raise NothingToReadError(f"{name}: no trace there (a *.json or *.jsonl file, or a folder of them)")
        yield from found
