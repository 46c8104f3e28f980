"""Calls added up by day, model, session, project or agent, and breaks by cause."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TypeVar

from msgspec import Struct, field

from hitledger.columns import NO_MONEY, added, columns, distinct, grouped, missing, where_known
from hitledger.results import Audit, Break, CallResult
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.view.by import By

Number = TypeVar("Number", int, Decimal)


KEYS: dict[By, Callable[[CallResult], str]] = {
    By.DAY: lambda call: figures.day(call.started_at),
    By.MODEL: lambda call: call.model or "unknown",
    By.SESSION: lambda call: call.session,
    By.PROJECT: lambda call: call.project or "none",
    By.AGENT: lambda call: "main" if call.agent == "main" else "sub-agents",
}


class Sum(Struct):
    """Calls and breaks added up. A figure that no call has is None; unpriced calls are counted."""

    calls: int = 0
    judged: int = 0  # calls of which it is known what could have been read
    input_tokens: int | None = None
    reporting_tokens: int = 0  # input of the calls that report reads
    uncached_input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    unpriced: int = 0
    breaks: int = 0
    lost_tokens: int = 0
    rebilled_tokens: int = 0
    break_cost: Decimal | None = None
    certainties: set[Certainty] = field(default_factory=set)  # of the breaks' tokens
    loss_certainties: set[Certainty] = field(default_factory=set)  # of their money
    cost_certainty: Certainty = Certainty.EXACT
    output_certainty: Certainty = Certainty.EXACT

    def add_break(self, found: Break) -> None:
        """Add a break."""
        self.breaks += 1
        self.lost_tokens += found.lost_tokens
        self.rebilled_tokens += found.rebilled_tokens
        self.break_cost = add(self.break_cost, found.cost)
        self.certainties.add(found.certainty)
        self.loss_certainties.add(cost_sure(found))

    @property
    def hit_rate(self) -> float | None:
        """Cache-read tokens over input tokens, of the calls that report reads; None where none does."""
        return (self.cache_read_tokens or 0) / self.reporting_tokens if self.reporting_tokens else None

    @property
    def loss(self) -> Decimal | None:
        """Money lost to breaks. No break is no loss only where breaks could have been seen."""
        return self.break_cost if self.breaks or not self.judged else Decimal(0)

    @property
    def certainty(self) -> Certainty:
        """That of the weakest break in the sum, of its tokens."""
        return figures.weakest(self.certainties)

    @property
    def loss_certainty(self) -> Certainty:
        """That of the weakest break in the sum, of its money."""
        return figures.weakest(self.loss_certainties)


def sure(call: CallResult, figure: str) -> Certainty:
    """How certain a figure of a call is; exact where the audit does not say otherwise."""
    return call.certainty.get(figure, Certainty.EXACT)


def cost_sure(found: Break) -> Certainty:
    """How certain the cost of a break is: no more than its tokens, also where an older audit does not say it."""
    return figures.weakest((found.certainty, found.cost_certainty))


def least_sure(certainties: Iterable[Mapping[str, Certainty]], figure: str) -> Certainty:
    """How certain the sum of a figure is."""
    return figures.weakest(one.get(figure, Certainty.EXACT) for one in certainties)


def sum_of(calls: Sequence[CallResult]) -> Sum:
    """Calls added up; what a call does not report adds nothing."""
    names = ("input_tokens", "uncached_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    total, uncached, read, written, output, ideal, cost, certainties = columns(
        calls, *names, "ideal_cache_read_tokens", "cost", "certainty"
    )
    alike = distinct(certainties)
    paid, priced = added(cost, NO_MONEY)
    return Sum(
        calls=len(calls),
        judged=added(ideal, 0)[1],
        input_tokens=_known(total),
        reporting_tokens=where_known(total, read),
        uncached_input_tokens=_known(uncached),
        cache_read_tokens=_known(read),
        cache_write_tokens=_known(written),
        output_tokens=_known(output),
        cost=paid if priced else None,
        unpriced=missing(cost, total) if priced < len(calls) else 0,
        cost_certainty=least_sure(alike, "cost"),
        output_certainty=least_sure(alike, "output_tokens"),
    )


def _known(column: Sequence[int | None]) -> int | None:
    total, known = added(column, 0)
    return total if known else None


def add(left: Number | None, right: Number | None) -> Number | None:
    """A sum in which unknown adds nothing; None where both are unknown."""
    if left is None or right is None:
        return right if left is None else left
    return left + right


def total(audit: Audit) -> Sum:
    """All calls and breaks in one sum."""
    whole = sum_of(audit.calls)
    for found in audit.breaks:
        whole.add_break(found)
    return whole


def sums(audit: Audit, by: By) -> dict[str, Sum]:
    """Sums by the key; days in order of time, everything else dearest first."""
    keys = list(map(KEYS[by], audit.calls))
    key_of = dict(zip(*columns(audit.calls, "id"), keys, strict=True))
    groups = {name: sum_of(calls) for name, calls in grouped(audit.calls, keys)}
    for found in audit.breaks:
        if found.call in key_of:
            groups[key_of[found.call]].add_break(found)
    if by is By.DAY:
        return dict(sorted(groups.items()))
    return dict(sorted(groups.items(), key=lambda item: (-(item[1].cost or 0), -(item[1].input_tokens or 0), item[0])))


def causes(breaks: Iterable[Break]) -> dict[str, Sum]:
    """Breaks by cause, dearest first."""
    groups: dict[str, Sum] = {}
    for found in breaks:
        groups.setdefault(found.cause, Sum()).add_break(found)
    return dict(
        sorted(groups.items(), key=lambda item: (-(item[1].break_cost or 0), -item[1].rebilled_tokens, item[0]))
    )
