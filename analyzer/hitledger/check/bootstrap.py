"""How far the figures would spread had other sessions been recorded: sessions drawn again, with replacement."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

DRAWS = 1000
MOST_STEPS = 1_000_000  # draws x sessions; with more sessions fewer draws are made, at least 200
SEED = 20_260_115
TAIL = 0.025  # on either side: a 95 % interval


@dataclass(frozen=True, slots=True)
class SessionSums:
    """What one session adds to either side. Money in USD as floats: only the spread is drawn from it."""

    input_before: int
    input_after: int
    read_before: int
    read_after: int
    cost_before: float
    cost_after: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Intervals of the change of the hit rate (share), and of the cost (share of the cost before)."""

    hit_rate_change: Interval
    cost_change: Interval | None  # None: nothing has a price
    sessions: int
    draws: int


def spread_of(sessions: Sequence[SessionSums]) -> Spread | None:
    """None for fewer than two sessions, which say nothing of others. The same sessions give the same intervals."""
    if len(sessions) < 2:
        return None
    random = Random(SEED)
    draws = max(200, min(DRAWS, MOST_STEPS // len(sessions)))
    rates: list[float] = []
    costs: list[float] = []
    for _ in range(draws):
        drawn = random.choices(sessions, k=len(sessions))
        before, after = sum(s.input_before for s in drawn), sum(s.input_after for s in drawn)
        if before and after:
            rates.append(sum(s.read_after for s in drawn) / after - sum(s.read_before for s in drawn) / before)
        paid = sum(s.cost_before for s in drawn)
        if paid:
            costs.append(sum(s.cost_after for s in drawn) / paid - 1)
    return Spread(_interval(rates), _interval(costs) if costs else None, len(sessions), draws)


def _interval(values: list[float]) -> Interval:
    ordered = sorted(values) or [0.0]
    last = len(ordered) - 1
    return Interval(ordered[round(TAIL * last)], ordered[round((1 - TAIL) * last)])
