"""Decode steps out of tensors that stay where they are: on CUDA such a step is recorded once and then replayed.

A replayed step reads the addresses and the host's numbers of the moment it was recorded. So batches are padded to a
power of two of sequences and of blocks, all that changes from step to step is filled into the same tensors, and nothing
is read from the batch's lists. A row that stands for no sequence writes into the null block and attends to that alone.
Elsewhere the same step is simply run, which is how it is tested without CUDA.
"""

import logging
from collections.abc import Sequence as Works
from typing import Any

import torch

from hitledger_replay.blocks import blocks_for
from hitledger_replay.engine.attention.padded import PaddedAttention
from hitledger_replay.engine.attention.protocol import AttentionBackend
from hitledger_replay.engine.attention.ragged import VarlenArguments
from hitledger_replay.engine.attention.varlen import VarlenAttention
from hitledger_replay.engine.batch import PackedBatch, Work
from hitledger_replay.engine.runner import Runner

logger = logging.getLogger(__name__)


class DecodeSteps:
    """One prepared step for each padded size that was needed so far."""

    def __init__(self, runner: Runner, max_sequences: int) -> None:
        """A batch of more sequences than `max_sequences`, padded, is not taken."""
        self._runner = runner
        self._max_rows = _padded(max_sequences)
        self._steps: dict[tuple[int, int], _PreparedStep] = {}
        self._pool = torch.cuda.graph_pool_handle() if runner.store.device.type == "cuda" else None
        self._records = self._pool is not None

    def forward(self, works: Works[Work]) -> torch.Tensor | None:
        """Logits (len(works), vocabulary), which the next step overwrites; None if this batch cannot be held."""
        rows = _padded(len(works))
        if rows > self._max_rows:
            return None
        width = _padded(max(blocks_for(work.stop, self._runner.store.block_size) for work in works))
        step = self._steps.get((rows, width))
        if step is None:
            step = self._steps[rows, width] = _PreparedStep(self._runner, rows, width)
        step.fill(works)
        return self._run(step)[: len(works)]

    def _run(self, step: "_PreparedStep") -> torch.Tensor:
        if step.recorded:
            return step.replay()
        logits = step.run()
        if self._records:
            try:
                step.record(self._pool)
            except RuntimeError as error:
                self._records = False
                logger.warning("this model's decode step cannot be recorded and is run without: %s", error)
        return logits


class _PreparedStep:
    """The tensors of `rows` sequences of at most `width` blocks, and what was recorded over them."""

    def __init__(self, runner: Runner, rows: int, width: int) -> None:
        store = runner.store
        starts = torch.arange(rows + 1, dtype=torch.int32, device=store.device)
        table = torch.zeros(rows, width, dtype=torch.int32, device=store.device)
        slots = torch.zeros(4, rows, dtype=torch.long, device=store.device)
        used, max_keys = torch.ones(rows, dtype=torch.int32, device=store.device), width * store.block_size
        self._runner = runner
        self._arguments = VarlenArguments(starts, starts * max_keys, used, table, 1, max_keys)
        self._slots = slots
        self._batch = PackedBatch(
            slots[0][None], slots[1][None], slots[2], slots[3], table.view(-1), starts[:rows].long(), (), ()
        )
        padded = PaddedAttention(used)
        self._backend: AttentionBackend = (
            VarlenAttention(padded, self._arguments) if runner.backend.reads_pages else padded
        )
        self._graph: torch.cuda.CUDAGraph | None = None
        self._logits = torch.empty(0)

    @property
    def recorded(self) -> bool:
        """Whether it can be replayed."""
        return self._graph is not None

    def fill(self, works: Works[Work]) -> None:
        """Put the newest token, its place and the blocks of every sequence where the step reads them."""
        rows, width = self._arguments.block_table.shape
        idle = rows - len(works)
        size = self._runner.store.block_size
        tables = [work.sequence.block_table[: blocks_for(work.stop, size)] for work in works]
        slots = [work.sequence.slot_mapping(work.start, work.stop)[0] for work in works]
        columns = (
            [work.sequence.token_ids[work.start] for work in works],
            [work.start for work in works],
            [slot // size for slot in slots],
            [slot % size for slot in slots],
        )
        self._slots.copy_(torch.tensor([column + [0] * idle for column in columns]))
        self._arguments.used_keys.copy_(torch.tensor([work.stop for work in works] + [1] * idle))
        padded = [[*table, *[0] * (width - len(table))] for table in tables] + [[0] * width] * idle
        self._arguments.block_table.copy_(torch.tensor(padded))

    def run(self) -> torch.Tensor:
        """Compute it now: logits (rows, vocabulary)."""
        return self._runner.forward(self._batch, self._backend)

    def record(self, pool: Any) -> None:
        """Record it; nothing is computed. Raises RuntimeError for a model that needs the host in the middle."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            self._logits = self.run()
        self._graph = graph

    def replay(self) -> torch.Tensor:
        """As `run`, from what was recorded."""
        assert self._graph is not None, "a step is recorded before it is replayed"
        self._graph.replay()
        return self._logits


def _padded(number: int) -> int:
    """The next power of two."""
    return 1 << (number - 1).bit_length()
