"""Time to first token as a function of the prompt and its cached part, fitted on this device.

TTFT = c + a (n - p) + b (n^2 - p^2) + load: a constant (weights are read once however short the prompt), linear work on
the uncached tokens, causal attention on their pairs. Without the constant such a model is off by a factor of two above
96 % reuse of short prompts, and from cold runs alone it cannot be told from the rest, so the calibration mixes short,
long and mostly cached prompts. Nothing is assumed to be proportional to the hit rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy

from hitledger.measurement import FittedTtft

MILLI = 1000.0
COEFFICIENTS = 3


def milliseconds(seconds: float) -> float:
    """As a measurement has them: to the microsecond."""
    return round(seconds * MILLI, 3)


@dataclass(frozen=True, slots=True)
class TtftSample:
    """A prompt of `num_tokens`, `num_cached` of them reused from the device, took `seconds`."""

    num_tokens: int
    num_cached: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TtftModel:
    """Seconds: `constant`, `per_token` of n - p, `per_pair` of n^2 - p^2."""

    constant: float
    per_token: float
    per_pair: float

    def predict(self, num_tokens: int, num_cached: int, load: float = 0.0) -> float:
        """Seconds to the first token; `load` is the time to bring cached blocks to the device."""
        linear = self.per_token * (num_tokens - num_cached)
        return self.constant + linear + self.per_pair * (num_tokens**2 - num_cached**2) + load

    def worst_relative_error(self, samples: Sequence[TtftSample]) -> float:
        """The largest |predicted - measured| / measured."""
        return max(abs(self.predict(s.num_tokens, s.num_cached) / s.seconds - 1) for s in samples)

    def as_value(self, samples: Sequence[TtftSample]) -> FittedTtft:
        """For the result file, in milliseconds."""
        return FittedTtft(
            round(self.constant * MILLI, 6),
            round(self.per_token * MILLI, 9),
            round(self.per_pair * MILLI, 12),
            len(samples),
            round(self.worst_relative_error(samples), 4),
        )


def fit(samples: Sequence[TtftSample]) -> TtftModel:
    """Least squares of the relative errors with no negative coefficient: the best of all subsets of the three terms.

    Raises ValueError for fewer than three samples.
    """
    if len(samples) < COEFFICIENTS:
        raise ValueError(f"{len(samples)} samples cannot settle three coefficients")
    rows = numpy.array([[1, s.num_tokens - s.num_cached, s.num_tokens**2 - s.num_cached**2] for s in samples], float)
    rows /= numpy.array([[s.seconds] for s in samples])
    best, best_error = numpy.zeros(COEFFICIENTS), float(len(samples))
    for size in range(1, COEFFICIENTS + 1):
        for columns in combinations(range(COEFFICIENTS), size):
            found = numpy.linalg.lstsq(rows[:, columns], numpy.ones(len(samples)), rcond=None)[0]
            candidate = numpy.zeros(COEFFICIENTS)
            candidate[list(columns)] = found
            error = float(((rows @ candidate - 1) ** 2).sum())
            if (found >= 0).all() and error < best_error:
                best, best_error = candidate, error
    return TtftModel(*(float(value) for value in best))
