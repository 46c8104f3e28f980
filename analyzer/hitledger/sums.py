"""The calls of each session added up. Unknown figures are left out of a sum and counted, never taken for zero.

Rows are taken by columns, so that sums run over plain sequences.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from hitledger.billing import COST_LEAVES_OUT
from hitledger.columns import NO_MONEY, added, columns, grouped, missing, money, tokens, where_known
from hitledger.expect import SLACK_TOKENS
from hitledger.results import WARMED, CallResult
from hitledger.types import Evidence

BLOCK = 128  # tokens; the coarsest step in which a provider reports reads
FIGURES = (
    *("input_tokens", "uncached_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"),
    *("ideal_cache_read_tokens", "expected_cache_read_tokens"),
    *("cost", "cost_without_cache", "logged_cost", "computed_cost"),
)
SAID = ("started_at", "agent", "model", "project", "predecessor", "notes", "evidence")


class Errors(msgspec.Struct, frozen=True):
    """Expected against reported reads, of the calls that have a predecessor and both figures."""

    calls: int = 0
    exact: int = 0
    within_block: int = 0
    within_1_percent: int = 0
    wrong_tokens: int = 0
    tokens: int = 0  # input of these calls
    warmed: int = 0  # calls left out: they read more than any logged call had left of their prompt


class Sums(msgspec.Struct, frozen=True):
    """Some calls added up. Money is None where no call has a price."""

    calls: int
    without_usage: int
    without_price: int  # of those with usage
    input_tokens: int
    uncached_input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reporting_tokens: int  # input of the calls that report reads
    ideal_cache_read_tokens: int
    expected_cache_read_tokens: int
    cost: Decimal | None
    cost_without_cache: Decimal | None
    evidence: Counter[str]
    errors: Errors
    both_costs: tuple[tuple[Decimal, Decimal], ...]  # logged and computed, of the calls that have both
    not_taken: Counter[str]  # calls whose logged cost leaves something out, by what
    started_at: datetime | None
    ended_at: datetime | None
    agents: tuple[str, ...]
    models: tuple[str, ...]  # sorted
    project: str

    @property
    def hit_rate(self) -> float | None:
        """Cache-read tokens over input tokens, of the calls that report reads; None where none does."""
        return self.cache_read_tokens / self.reporting_tokens if self.reporting_tokens else None


def by_session(calls: Sequence[CallResult]) -> dict[str, Sums]:
    """Sums by session, in the order of their first calls."""
    session, *_ = columns(calls, "session", *FIGURES, *SAID)  # made for all at once, and taken by each session
    return {name: sums_of(rows) for name, rows in grouped(calls, session)}


def sums_of(calls: Sequence[CallResult]) -> Sums:
    """These calls added up."""
    figures, said = columns(calls, *FIGURES), columns(calls, *SAID)
    total, uncached, read, written, output, ideal, expected, cost, without_cache, logged, computed = figures
    started, agent, model, project, predecessor, notes, evidence = said
    whole, with_usage = added(total, 0)
    paid, priced = added(cost, NO_MONEY)
    times = [time for time in started if time is not None]
    return Sums(
        calls=len(calls),
        without_usage=len(calls) - with_usage,
        without_price=missing(cost, total) if priced < len(calls) else 0,
        input_tokens=whole,
        uncached_input_tokens=tokens(uncached),
        cache_read_tokens=tokens(read),
        cache_write_tokens=tokens(written),
        output_tokens=tokens(output),
        reporting_tokens=where_known(total, read),
        ideal_cache_read_tokens=tokens(ideal),
        expected_cache_read_tokens=tokens(expected),
        cost=paid if priced else None,
        cost_without_cache=money(without_cache),
        evidence=Counter(
            {kind: number for kind in Evidence if (number := evidence.count(kind))}
        ),  # it is hashed slowly
        errors=_errors(predecessor, expected, read, total, notes),
        both_costs=tuple((a, b) for a, b in zip(logged, computed, strict=True) if a is not None and b is not None),
        not_taken=_not_taken(notes),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        agents=tuple(dict.fromkeys(agent)),
        models=tuple(sorted(set(model))),
        project=next(filter(None, project), ""),
    )


def _not_taken(notes: Sequence[tuple[str, ...]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for flags, calls in Counter(notes).items():
        for note in flags:
            if note in COST_LEAVES_OUT:
                found[COST_LEAVES_OUT[note]] += calls
    return found


def _errors(
    predecessor: Sequence[str | None],
    expected: Sequence[int | None],
    read: Sequence[int | None],
    total: Sequence[int | None],
    notes: Sequence[tuple[str, ...]],
) -> Errors:
    """What an unlogged call wrote is no matter of the rule: calls that it warmed are left out and counted."""
    warming = {row for row in set(notes) if WARMED in row}
    known = [
        (abs(by_rule - reported), whole, bool(warming) and flags in warming)
        for before, by_rule, reported, whole, flags in zip(predecessor, expected, read, total, notes, strict=True)
        if whole and before is not None and by_rule is not None and reported is not None
    ]
    judged = [(error, whole) for error, whole, warmed in known if not warmed]
    wrong = [(error, whole) for error, whole in judged if error]  # few: a sum over them is a short one
    return Errors(
        calls=len(judged),
        exact=len(judged) - len(wrong),
        within_block=len(judged) - sum(error >= BLOCK for error, _ in wrong),
        within_1_percent=len(judged) - sum(error > max(SLACK_TOKENS, whole / 100) for error, whole in wrong),
        wrong_tokens=sum(error for error, _ in wrong),
        tokens=sum([whole for _, whole in judged]),
        warmed=len(known) - len(judged),
    )
