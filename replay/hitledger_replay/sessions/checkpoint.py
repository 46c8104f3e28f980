"""Finished calls on disk while a replay runs, so that a stopped one goes on where it was.

One JSON line a call, behind a line that says which replay it is; a line that was cut off is dropped. The keys and
values themselves are not kept: going on computes the finished prompts once more, untimed. Whoever has written the
result removes the file.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import msgspec

from hitledger.measurement import CallMeasurement

VERSION = 1


class Checkpoint:
    """Rows by run and call id."""

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        """A file of another replay is overwritten. Without a path rows are counted and die with the process."""
        self._path = path
        self._rows: dict[tuple[int, str], CallMeasurement] = {}
        header = json.dumps({"hitledger_replay": VERSION, "fingerprint": fingerprint}, sort_keys=True)
        if path is None:
            return
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        if lines and lines[0] == header.encode():
            for line in lines[1:]:
                self._read(line)
        rows = (self._line(run, row) for (run, _), row in self._rows.items())
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, run: int, call_id: str) -> CallMeasurement | None:
        """What an earlier, stopped replay measured."""
        return self._rows.get((run, call_id))

    def add(self, run: int, row: CallMeasurement) -> None:
        """Keep a finished call; flushed at once."""
        if (run, row.id) in self._rows:
            return
        self._rows[run, row.id] = row
        if self._path is None:
            return
        with self._path.open("a", encoding="utf-8") as file:
            file.write(self._line(run, row) + "\n")

    def _line(self, run: int, row: CallMeasurement) -> str:
        return msgspec.json.encode({"run": run, "call": row}, order="sorted").decode()

    def _read(self, line: bytes) -> None:
        try:
            content = msgspec.json.decode(line)
            row = msgspec.convert(content["call"], CallMeasurement)
            self._rows[int(content["run"]), row.id] = row
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError):  # bytes that are no UTF-8 too
            return


def fingerprint_of(parts: Iterable[object]) -> str:
    """Equal for the same calls under the same options."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode(errors="surrogatepass") + b"\0")
    return digest.hexdigest()
