"""Several runs over the same calls as one: the same counts in each, medians of the times and their spread."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from hitledger.measurement import CallMeasurement, CallTiming
from hitledger_replay.errors import CorruptPoolError


def combined(runs: Sequence[Sequence[CallMeasurement]]) -> tuple[CallMeasurement, ...]:
    """One row a call. Raises CorruptPoolError if two runs reused different numbers of tokens."""
    return tuple(_one([run[index] for run in runs]) for index in range(len(runs[0])))


def _one(rows: Sequence[CallMeasurement]) -> CallMeasurement:
    first = rows[0]
    for row in rows:
        if (row.id, row.measured_cached_tokens) != (first.id, first.measured_cached_tokens):
            raise CorruptPoolError(f"call {first.id} reused other tokens in another run; the engine is at fault")
    times = [row.ttft_ms for row in rows if row.ttft_ms is not None]
    if not times:
        return first
    without = [row.ttft_without_break_ms for row in rows if row.ttft_without_break_ms is not None]
    return replace(
        first,
        ttft_ms=round(median(times), 3),
        ttft_without_break_ms=round(median(without), 3) if without else None,
        timing=_timing([row.timing for row in rows if row.timing is not None], max(times) - min(times)),
    )


def _timing(timings: Sequence[CallTiming], spread: float) -> CallTiming:
    return CallTiming(
        lookup_ms=round(median(timing.lookup_ms for timing in timings), 3),
        load_ms=round(median(timing.load_ms for timing in timings), 3),
        compute_ms=round(median(timing.compute_ms for timing in timings), 3),
        sample_ms=round(median(timing.sample_ms for timing in timings), 3),
        spread_ms=round(spread, 3),
        runs=len(timings),
    )
