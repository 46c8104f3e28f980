"""A trace in columns, and the builder that checks each row on the way in."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hitledger.errors import UsageError
from hitledger.onscreen import escaped
from hitledger_replay.arrays import Ints
from hitledger_replay.errors import TraceError
from hitledger_replay.traces.keys import chained_keys

MAX_BLOCKS = 1 << 28
MAX_TOKENS = 1 << 40
MAX_TEXT = 200
"""Characters of a trace that a name or a message shows."""
UNNAMED = -1
Keys = Ints


@dataclass(frozen=True, slots=True)
class Trace:
    """R requests over N block references.

    keys          int64[N]: one number for each different block *with all blocks in front of it*, from 0
    starts        int64[R + 1]: request r has keys[starts[r] : starts[r + 1]]
    input_tokens  int64[R]: prompt length; the last block is partial if the blocks hold more than that
    output_tokens int64[R]: generated tokens; they are in no block unless a later prompt repeats them
    sessions      int64[R]: which session a request belongs to; UNNAMED throughout where the format does not say
    times         float64[R]: seconds, ascending
    """

    name: str
    block_size: int
    keys: Keys
    starts: Ints
    input_tokens: Ints
    output_tokens: Ints
    sessions: Ints
    times: npt.NDArray[np.float64]
    warm_tokens: int = 0
    """Tools and system prompt that another session may have left in the cache (only some formats say)."""
    num_keys: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_keys", int(self.keys.max()) + 1 if len(self.keys) else 0)

    @property
    def num_requests(self) -> int:
        """R."""
        return len(self.input_tokens)

    @property
    def num_blocks(self) -> Ints:
        """int64[R]: blocks of each request, a partial one included."""
        return np.diff(self.starts)

    def blocks(self, request: int) -> Keys:
        """The keys of one request."""
        return self.keys[self.starts[request] : self.starts[request + 1]]

    def select(self, requests: Ints) -> "Trace":
        """The trace of some requests only, in the same order; keys keep their numbers."""
        parts = [self.blocks(request) for request in requests.tolist()]
        starts = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=starts[1:])
        return replace(
            self,
            keys=np.concatenate([*parts, np.zeros(0, dtype=np.int64)]),
            starts=starts,
            input_tokens=self.input_tokens[requests],
            output_tokens=self.output_tokens[requests],
            sessions=self.sessions[requests],
            times=self.times[requests],
        )

    def coarsen(self, block_size: int) -> "Trace":
        """The same trace in larger blocks: each stands for `block_size // self.block_size` of ours, whole ones only.

        A last block that is partial stays one if ours cover the prompt. Raises UsageError if the sizes do not divide.
        """
        factor, rest = divmod(block_size, self.block_size)
        if rest or factor < 1:
            raise UsageError(f"{self.name}: blocks of {self.block_size} tokens cannot become blocks of {block_size}")
        counts = self.num_blocks
        first = np.repeat(self.starts[:-1], counts)
        place = np.arange(len(self.keys)) - first
        covered = np.repeat(counts * self.block_size >= self.input_tokens, counts)
        last = place == np.repeat(counts, counts) - 1
        kept = ((place + 1) % factor == 0) | (last & covered)
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return replace(self, block_size=block_size, keys=self.keys[kept], starts=starts)


class TraceBuilder:
    """Collects rows; every complaint names the file and the row. `place` is what to call a row, such as "line"."""

    def __init__(self, name: str, file: str, block_size: int, place: str = "line") -> None:
        self.name = escaped(name[:MAX_TEXT])  # it may be long and steer a terminal
        self.file, self.place = file, place
        self.block_size = check_block_size(block_size, file)
        self._ids: list[Ints] = []
        self._rows: list[int | str] = []
        self._tokens: list[int] = []
        self._outputs: list[int] = []
        self._times: list[float] = []
        self._sessions: list[int] = []
        self._num_blocks = 0

    @property
    def num_rows(self) -> int:
        """Requests added so far."""
        return len(self._rows)

    def fail(self, row: int | str, message: str) -> TraceError:
        """The error to raise about a row, given by its number or JSON path."""
        return TraceError(f"{self.file}, {self.place} {row}: {message[:MAX_TEXT]}")

    def add(self, row: int | str, ids: Any, lengths: tuple[Any, Any], time: Any, session: int = UNNAMED) -> None:
        """Add one request of (input, output) tokens. Raises TraceError for lengths, ids and times that cannot be."""
        input_tokens, output_tokens = lengths
        if type(input_tokens) is not int or not 0 < input_tokens <= MAX_TOKENS:
            raise self.fail(row, f"input length {input_tokens!r} is not a positive number of tokens")
        if type(output_tokens) is not int or not 0 <= output_tokens <= MAX_TOKENS:
            raise self.fail(row, f"output length {output_tokens!r} is not a number of tokens")
        blocks = self._block_ids(row, ids)
        full, rest = divmod(input_tokens, self.block_size)
        if not full <= len(blocks) <= full + (rest > 0):
            raise self.fail(row, f"{len(blocks)} block ids for {input_tokens} tokens in blocks of {self.block_size}")
        if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < MAX_TOKENS:
            raise self.fail(row, f"time {time!r} is not a number of seconds from 0")
        if self._times and time < self._times[-1]:
            raise self.fail(row, f"time {time} is before {self._times[-1]} of the row in front; sort the trace by time")
        self._num_blocks += len(blocks)
        if self._num_blocks > MAX_BLOCKS:
            raise self.fail(row, f"more than {MAX_BLOCKS} block ids in one trace; split it")
        self._ids.append(blocks)
        self._rows.append(row)
        self._tokens.append(input_tokens)
        self._outputs.append(output_tokens)
        self._times.append(float(time))
        self._sessions.append(session)

    def build(self, warm_tokens: int = 0) -> Trace:
        """The trace. Raises TraceError if it is empty or a row repeats an id."""
        if not self._rows:
            raise TraceError(f"{self.file}: no request in it")
        starts = np.zeros(len(self._ids) + 1, dtype=np.int64)
        np.cumsum([len(ids) for ids in self._ids], out=starts[1:])
        flat = np.concatenate(self._ids)
        self._ids.clear()
        keys, repeated = chained_keys(flat, starts)
        if repeated is not None:
            raise self.fail(
                self._rows[repeated], "a block id occurs twice; the id stands for the whole prefix, so it cannot"
            )
        tokens, outputs, sessions = (
            np.array(column, dtype=np.int64) for column in (self._tokens, self._outputs, self._sessions)
        )
        times = np.array(self._times)
        return Trace(self.name, self.block_size, keys, starts, tokens, outputs, sessions, times, warm_tokens)

    def _block_ids(self, row: int | str, ids: Any) -> Ints:
        if not isinstance(ids, list):
            raise self.fail(row, f"the block ids are a {type(ids).__name__}, not a list")
        if not ids:
            return np.zeros(0, dtype=np.int64)
        try:
            blocks = np.array(ids)
        except (ValueError, OverflowError):
            blocks = np.array(None)
        if blocks.ndim != 1 or blocks.dtype != np.int64:
            raise self.fail(row, "a block id is not an integer of at most 63 bits")
        if blocks.min() < 0:
            raise self.fail(row, f"block id {blocks.min()} is negative")
        return blocks


def check_block_size(block_size: Any, file: str) -> int:
    """A block size a trace may have. Raises TraceError."""
    if type(block_size) is not int or not 0 < block_size <= 1 << 20:
        raise TraceError(f"{file}: block size {block_size!r} is not a number of tokens from 1 to {1 << 20}")
    return block_size
