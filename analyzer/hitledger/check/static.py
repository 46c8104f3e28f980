"""The static part: is the prefix stable, are the marks right, does the order of the parts cost reads. Needs no logs."""

from dataclasses import dataclass

from hitledger.check.breakpoints import mark_findings
from hitledger.check.findings import CheckFinding, in_order
from hitledger.check.moves import Move, advice, spot_of
from hitledger.check.sources import Source
from hitledger.check.stability import first_unstable, unstable, unstable_segments
from hitledger.check.suspects import suspects
from hitledger.policies.rules import Rules
from hitledger.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Static:
    """What one side shows by itself. `volatile`: text that changes or looks as if it did; `marks`: cache marks."""

    volatile: tuple[CheckFinding, ...]
    marks: tuple[CheckFinding, ...]
    move: Move | None  # of the first part that needs one


def examine(source: Source, counter: TokenCounter, rules: Rules) -> Static:
    """Judge every part of a side. What a renderer shows to change is not guessed at again."""
    volatile: list[CheckFinding] = []
    marks: list[CheckFinding] = []
    move: Move | None = None
    for part in source.parts:
        changing: frozenset[int] = frozenset()
        if source.rendered:
            volatile += unstable(part, source.renders)
            changing = unstable_segments(part, source.renders)
            first = spot_of(first_unstable(part, source.renders), part)
        else:
            suspected = list(suspects(part))
            volatile += [one.finding for one in suspected]
            first = min((one.spot for one in suspected), key=lambda spot: (spot.index, spot.start), default=None)
        move = move or advice(part, first, changing, counter)
        marks += mark_findings(part, changing, counter, rules)
    return Static(in_order(volatile), in_order(marks), move)
