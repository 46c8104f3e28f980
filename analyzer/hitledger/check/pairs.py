"""The parts that baseline and candidate share, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from hitledger.check.material import Material
from hitledger.errors import UsageError


@dataclass(frozen=True, slots=True)
class Pair:
    """One part on both sides."""

    baseline: Material
    candidate: Material

    @property
    def changed(self) -> bool:
        """Whether the two sides differ in anything that a provider sees."""
        return _seen(self.baseline) != _seen(self.candidate)

    @property
    def other_model(self) -> bool:
        """Whether the candidate asks another model."""
        return self.baseline.model != self.candidate.model


def pairs_of(baseline: Sequence[Material], candidate: Sequence[Material]) -> tuple[Pair, ...]:
    """Parts with the same name. Raises UsageError where the two sides are not of one kind."""
    old = {part.name: part for part in baseline}
    found = tuple(Pair(old[part.name], part) for part in candidate if part.name in old)
    if not found:
        raise UsageError("--baseline and --candidate have no file in common: give two files, or two folders alike")
    for pair in found:
        if pair.baseline.kind is not pair.candidate.kind:
            kinds = f"{pair.baseline.file} is a {pair.baseline.kind}, {pair.candidate.file} a {pair.candidate.kind}"
            raise UsageError(f"{kinds}: --baseline and --candidate are of one kind")
    return found


def unpaired(baseline: Sequence[Material], candidate: Sequence[Material]) -> tuple[str, ...]:
    """Names of parts that one side alone has."""
    return tuple(sorted({part.name for part in baseline} ^ {part.name for part in candidate}))


def _seen(material: Material) -> tuple[object, ...]:
    marks = tuple((segment.digest, segment.mark) for segment in material.prompt.own)
    return marks, material.parameters, material.model
