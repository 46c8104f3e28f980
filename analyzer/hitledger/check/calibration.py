"""Tokens as the provider counts them: a public tokenizer's counts, scaled for each model to the logged totals."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hitledger.positions import Counter
from hitledger.types import Call, Segment


class ScaledCounter:
    """Counts segments, each scaled by its model's factor; the same segment has the same count on both sides."""

    def __init__(self, counter: Counter, factors: Mapping[str, float]) -> None:
        self._counter = counter
        self._factors = factors

    def count(self, segment: Segment, model: str) -> int:
        """Tokens of one segment."""
        counted = self._counter.count(segment, model)
        factor = self._factors.get(model, 1.0)
        return counted if factor == 1.0 else round(counted * factor)


def carried_over(factors: Mapping[str, float], models: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Factors with those of models (old, new) that the logs do not have: counted as the old one's tokens."""
    return {new: factors[old] for old, new in sorted(models) if old in factors} | dict(factors)


def factors_of(calls: Sequence[Call], counter: Counter) -> dict[str, float]:
    """For each model with logged usage: sum of logged prompt tokens / sum of counted ones."""
    logged: dict[str, int] = defaultdict(int)
    counted: dict[str, int] = defaultdict(int)
    for call in calls:
        if call.usage is None or call.usage.read_accumulated or not call.usage.input_tokens:
            continue
        logged[call.model] += call.usage.input_tokens
        counted[call.model] += sum(counter.count(segment, call.model) for segment in call.prompt.segments())
    return {model: logged[model] / counted[model] for model in logged if counted[model]}
