"""Six things people call hit rate. One trace, one unlimited cache, and they run from 42 to 86 percent.

Each takes the hit blocks of every request and gives a numerator and a denominator; a rate without its definition says
nothing. `BLOCK_TOKENS` is the default: what kvcache.ai counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hitledger_replay.arrays import Ints
from hitledger_replay.simulation.outcome import Outcome
from hitledger_replay.traces.trace import Trace


class Definition(StrEnum):
    """The unit, the denominator and the rule for the last block."""

    BLOCK_TOKENS = "tokens; the last, partial block may hit (kvcache.ai)"
    CAPPED_TOKENS = "tokens; full blocks only, the last token is never a hit (vLLM)"
    BLOCKS = "blocks hit / blocks (papers)"
    MEAN_TOKENS = "mean over requests of their token hit rate"
    MEAN_BLOCKS = "mean over requests of their block hit rate (Dynamo)"
    LAST_HALF_TOKENS = "tokens of the last 50 % of requests; the last, partial block may hit (kvcache.ai)"


class Window(StrEnum):
    """Which requests count: all, or those after the first half, floor(R / 2), which only warms the cache up."""

    ALL = "all"
    LAST50 = "last50"


def hit_tokens(trace: Trace, hit_blocks: Ints) -> Ints:
    """int64[R]: tokens of the hit blocks; a partial block counts the tokens it holds."""
    return np.minimum(hit_blocks * trace.block_size, trace.input_tokens)


def capped_hit_tokens(trace: Trace, hit_blocks: Ints) -> Ints:
    """int64[R]: full blocks only, and at most (n - 1) // block_size of them (vLLM)."""
    return np.minimum(hit_blocks, (trace.input_tokens - 1) // trace.block_size) * trace.block_size


def measured(trace: Trace, window: Window) -> slice:
    """The requests that count."""
    return slice(trace.num_requests // 2 if window is Window.LAST50 else 0, None)


@dataclass(frozen=True, slots=True)
class Count:
    """`hits` out of `total`, in `unit`. For means: the sum of the requests' rates out of the number of requests."""

    definition: Definition
    unit: str
    hits: float
    total: int

    @property
    def rate(self) -> float:
        """hits / total; 0 where nothing was asked."""
        return self.hits / self.total if self.total else 0.0

    def __add__(self, other: "Count") -> "Count":
        """The count over both sets of requests; only of one definition."""
        assert self.definition is other.definition, "counts of two definitions have no sum"
        return Count(self.definition, self.unit, self.hits + other.hits, self.total + other.total)


def count_hits(trace: Trace, outcome: Outcome, definition: Definition, window: Window = Window.ALL) -> Count:
    """What `definition` makes of an outcome, over the requests in `window`."""
    part = measured(trace, Window.LAST50 if definition is Definition.LAST_HALF_TOKENS else window)
    columns, unit = _COLUMNS[definition]
    hit, total = (column[part] for column in columns(trace, outcome.hit_blocks))
    if unit == "requests":
        some = total > 0
        return Count(definition, unit, float((hit[some] / total[some]).sum()), len(total))
    return Count(definition, unit, int(hit.sum()), int(total.sum()))


def _tokens(trace: Trace, hit_blocks: Ints) -> tuple[Ints, Ints]:
    return hit_tokens(trace, hit_blocks), trace.input_tokens


def _capped(trace: Trace, hit_blocks: Ints) -> tuple[Ints, Ints]:
    return capped_hit_tokens(trace, hit_blocks), trace.input_tokens


def _blocks(trace: Trace, hit_blocks: Ints) -> tuple[Ints, Ints]:
    return hit_blocks, trace.num_blocks


_COLUMNS: dict[Definition, tuple[Callable[[Trace, Ints], tuple[Ints, Ints]], str]] = {
    Definition.BLOCK_TOKENS: (_tokens, "tokens"),
    Definition.CAPPED_TOKENS: (_capped, "tokens"),
    Definition.BLOCKS: (_blocks, "blocks"),
    Definition.MEAN_TOKENS: (_tokens, "requests"),
    Definition.MEAN_BLOCKS: (_blocks, "requests"),
    Definition.LAST_HALF_TOKENS: (_tokens, "tokens"),
}
