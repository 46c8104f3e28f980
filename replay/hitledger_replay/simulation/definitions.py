"""Six things people call hit rate. One trace, one unlimited cache, and they run from 42 to 86 percent.

Each takes the hit blocks of every request and gives a numerator and a denominator; a rate without its definition says
nothing. `BLOCK_TOKENS` is the default: what kvcache.ai counts.
"""

from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hitledger_replay.simulation.outcome import Outcome
from hitledger_replay.traces.trace import Trace

Ints = npt.NDArray[np.int64]


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


def hit_rate(trace: Trace, outcome: Outcome, definition: Definition, window: Window = Window.ALL) -> Fraction:
    """Numerator and denominator as one exact fraction (not in lowest terms is not kept; see `hit_and_total`)."""
    hit, total = hit_and_total(trace, outcome, definition, window)
    return Fraction(hit) / total if total else Fraction(0)


def hit_and_total(
    trace: Trace, outcome: Outcome, definition: Definition, window: Window = Window.ALL
) -> tuple[Fraction, int]:
    """(hits, out of): tokens, blocks, or for means the sum of the requests' rates and the number of requests."""
    part = measured(trace, Window.LAST50 if definition is Definition.LAST_HALF_TOKENS else window)
    hit, total = _COLUMNS[definition](trace, outcome.hit_blocks)
    hit, total = hit[part], total[part]
    if definition in (Definition.MEAN_TOKENS, Definition.MEAN_BLOCKS):
        some = total > 0
        return Fraction(float((hit[some] / total[some]).sum())), len(total)
    return Fraction(int(hit.sum())), int(total.sum())


def _tokens(trace: Trace, hit_blocks: Ints) -> tuple[Ints, Ints]:
    return hit_tokens(trace, hit_blocks), trace.input_tokens


def _capped(trace: Trace, hit_blocks: Ints) -> tuple[Ints, Ints]:
    return capped_hit_tokens(trace, hit_blocks), trace.input_tokens


def _blocks(trace: Trace, hit_blocks: Ints) -> tuple[Ints, Ints]:
    return hit_blocks, trace.num_blocks


_COLUMNS: dict[Definition, Callable[[Trace, Ints], tuple[Ints, Ints]]] = {
    Definition.BLOCK_TOKENS: _tokens,
    Definition.CAPPED_TOKENS: _capped,
    Definition.BLOCKS: _blocks,
    Definition.MEAN_TOKENS: _tokens,
    Definition.MEAN_BLOCKS: _blocks,
    Definition.LAST_HALF_TOKENS: _tokens,
}
