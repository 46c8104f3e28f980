"""What the same calls would have cost under other rules, with other marks, elsewhere, or with their breaks mended."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal

from msgspec.structs import replace

from hitledger.billing import cost_of, rates_of
from hitledger.chains import Chains, Link
from hitledger.errors import UsageError
from hitledger.expect import Expectation, Forecaster
from hitledger.lifetimes import seconds_of
from hitledger.policies.rules import Rules
from hitledger.positions import Positions
from hitledger.prices import PriceBook, Rates, UnknownPrice
from hitledger.tokens import TokenCounter
from hitledger.types import Call
from hitledger.verdicts import Judge, MinLoss
from hitledger.whatif import changes
from hitledger.whatif.simulate import COMPACTED, SimulatedCall, simulate

ALL = "all"
UNEXPLAINED = "unexplained"  # the provider's side: by the rule nothing was lost, so there is nothing to mend


@dataclass(frozen=True, slots=True)
class Change:
    """What is different; several at once are applied together."""

    lifetime: str = ""  # "1h": of every mark and write
    marks: tuple[changes.MarkAt, ...] = ()
    model: str = ""
    provider: str = ""
    mend: str = ""  # a cause code, or "all"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Sums over the calls that a rule covers on both sides. `cost` None: no call has a price."""

    calls: int
    input_tokens: int
    read: int
    written: int
    cost: Decimal | None
    unpriced: int  # calls without a price, in no figure of money

    @property
    def hit_rate(self) -> float | None:
        """Cache-read tokens over all input tokens."""
        return self.read / self.input_tokens if self.input_tokens else None


@dataclass(frozen=True, slots=True)
class Compactions:
    """Compactions, which mending leaves alone: what they wrote anew, and what their shorter prompts then saved."""

    calls: int
    rewritten: int  # tokens
    cost: Decimal | None  # of the rewriting, over reading as much
    saved_tokens: int  # not sent again by the calls that followed
    saved: Decimal | None  # at the read rate


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Both sides, simulated alike. `logged` is what the log itself says of the same calls."""

    before: Outcome
    after: Outcome
    logged: Outcome
    mended: tuple[tuple[str, int], ...]  # cause, breaks
    compactions: Compactions
    not_simulated: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Log:
    """The calls as they were, and what an audit finds in them."""

    calls: Sequence[Call]
    links: Sequence[Link]
    expectations: Sequence[Expectation | None]
    forecaster: Forecaster
    causes: dict[int, str]


def what_if(calls: Sequence[Call], change: Change, rules: Rules, book: PriceBook, counter: TokenCounter) -> WhatIf:
    """Simulate the calls as they are and with the change. Raises UsageError where it cannot be applied."""
    log = _read(calls, rules, counter)
    compacted = {index for index, cause in log.causes.items() if cause == COMPACTED}
    mended = _mended(log, change.mend)
    base = changes.without_split(log.calls)
    other = _changed(base, change)
    before = _simulate(base, log, rules, counter, compacted=compacted)
    after = _simulate(other, log, _with_default(rules, change.lifetime), counter, mended, compacted)
    both = [i for i, (one, two) in enumerate(zip(before, after, strict=True)) if one is not None and two is not None]
    return WhatIf(
        before=_sum(base, before, both, book),
        after=_sum(other, after, both, book),
        logged=_logged(log.calls, both, book),
        mended=tuple(sorted(Counter(log.causes[index] for index in mended).items())),
        compactions=_compactions(log, before, compacted, book),
        not_simulated=len(calls) - len(both),
        notes=_notes(log, change, after, both),
    )


def _read(calls: Sequence[Call], rules: Rules, counter: TokenCounter) -> _Log:
    chains = Chains()
    links = [chains.link(call) for call in calls]
    forecaster = Forecaster(rules, Positions(counter))
    expectations = forecaster.all(calls, [link.predecessor for link in links])
    verdicts = Judge(links, expectations, counter, MinLoss()).all()
    causes = {
        link.index: verdict.diagnosis.cause
        for link, verdict in zip(links, verdicts, strict=True)
        if verdict.listed and verdict.diagnosis is not None
    }
    for link in links:
        if "compaction" in link.call.events and link.predecessor is not None:
            causes[link.index] = COMPACTED
    return _Log(calls, links, expectations, forecaster, causes)


def _mended(log: _Log, mend: str) -> frozenset[int]:
    """Calls whose break is mended. Compaction is none: its text is new, there is nothing to be read."""
    if not mend:
        return frozenset()
    if mend == COMPACTED:
        raise UsageError(f"--mend {COMPACTED}: a summary is new text, nothing holds it; its costs are shown apart")
    mendable = {i: cause for i, cause in log.causes.items() if cause not in (COMPACTED, UNEXPLAINED)}
    found = frozenset(i for i, cause in mendable.items() if mend in (ALL, cause))
    if not found and mend != ALL:
        known = ", ".join(sorted(set(mendable.values()))) or "none"
        raise UsageError(f"--mend {mend}: no break of that cause in these logs; there are: {known}")
    return found


def _changed(calls: Sequence[Call], change: Change) -> Sequence[Call]:
    if change.model:
        calls = changes.with_model(calls, change.model, change.provider)
    elif change.provider:
        calls = changes.with_provider(calls, change.provider)
    if change.marks:
        calls = changes.with_marks(calls, change.marks, change.lifetime or "5m")
    if change.lifetime:
        if not seconds_of(change.lifetime):
            raise UsageError(f"--lifetime {change.lifetime}: give it like 5m or 1h")
        calls = changes.with_lifetime(calls, change.lifetime)
    return calls


def _with_default(rules: Rules, lifetime: str) -> Rules:
    """Rules that name the lifetime have it as their default, for what is written without a mark."""
    if not lifetime:
        return rules
    return Rules(tuple(rule.with_default(lifetime) for rule in rules.all))


def _simulate(
    calls: Sequence[Call],
    log: _Log,
    rules: Rules,
    counter: TokenCounter,
    mended: AbstractSet[int] = frozenset(),
    compacted: AbstractSet[int] = frozenset(),
) -> list[SimulatedCall | None]:
    forecaster = Forecaster(rules, Positions(counter), log.forecaster.heads)
    return simulate(calls, log.links, forecaster, mended, compacted)


def _sum(
    calls: Sequence[Call], simulated: Sequence[SimulatedCall | None], both: Sequence[int], book: PriceBook
) -> Outcome:
    found = [(calls[index], one) for index in both if (one := simulated[index]) is not None]
    costs = [_cost(book, replace(call, usage=one.usage(call))) for call, one in found]
    return Outcome(
        calls=len(found),
        input_tokens=sum(one.input_tokens for _, one in found),
        read=sum(one.read for _, one in found),
        written=sum(one.written for _, one in found),
        cost=_total(costs),
        unpriced=sum(cost is None for cost in costs),
    )


def _logged(calls: Sequence[Call], both: Sequence[int], book: PriceBook) -> Outcome:
    known = [(calls[index], usage) for index in both if (usage := calls[index].usage) is not None]
    costs = [_cost(book, call) for call, _ in known]
    return Outcome(
        calls=len(known),
        input_tokens=sum(usage.input_tokens for _, usage in known),
        read=sum(usage.cache_read_tokens or 0 for _, usage in known),
        written=sum(usage.cache_write_tokens or 0 for _, usage in known),
        cost=_total(costs),
        unpriced=sum(cost is None for cost in costs),
    )


def _total(costs: Sequence[Decimal | None]) -> Decimal | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known else None


def _cost(book: PriceBook, call: Call) -> Decimal | None:
    if call.usage is None:
        return call.logged_cost
    rates = rates_of(book, call, call.usage.input_tokens)
    try:
        cost = cost_of(call, rates if isinstance(rates, Rates) else None)
    except UnknownPrice:
        return None
    return cost.total if cost is not None else None


def _compactions(
    log: _Log, before: Sequence[SimulatedCall | None], compacted: AbstractSet[int], book: PriceBook
) -> Compactions:
    """Rewriting and gain apart: the summary was written once, the calls behind it are shorter by what it replaced."""
    shorter: dict[int, int] = {}
    rewritten = saved_tokens = 0
    costs: list[Decimal | None] = []
    gains: list[Decimal | None] = []
    for link in log.links:
        one, before_index = before[link.index], link.predecessor
        if one is None or before_index is None:
            continue
        earlier = before[before_index]
        shorter[link.index] = shorter.get(before_index, 0)
        rates = rates_of(book, link.call, one.input_tokens)
        read_rate = rates.cache_read if isinstance(rates, Rates) else None
        if link.index in compacted and earlier is not None:
            rewritten += one.written + one.uncached
            shorter[link.index] += max(0, earlier.input_tokens - one.input_tokens)
            paid = _cost(
                book, replace(link.call, usage=replace(one.usage(link.call), output_tokens=0), logged_cost=None)
            )
            costs.append(None if paid is None or read_rate is None else paid - one.input_tokens * read_rate)
        elif shorter[link.index]:
            saved_tokens += shorter[link.index]
            gains.append(None if read_rate is None else shorter[link.index] * read_rate)
    return Compactions(len(compacted), rewritten, _total(costs), saved_tokens, _total(gains))


def _notes(log: _Log, change: Change, after: Sequence[SimulatedCall | None], both: Sequence[int]) -> tuple[str, ...]:
    """What the reader has to know of the figures."""
    notes: list[str] = []
    if change.model or change.provider:
        notes.append("prompts are taken to be as long as logged: another model's tokenizer cuts them differently")
    if change.model or change.provider or change.marks:
        unread = [one for i in both if (one := after[i]) is not None]
        if unread and not any(one.read or one.written for one in unread):
            notes.append("nothing is cached there: no mark reaches the minimum, or none is set (--marks last)")
    carried = sum(one.carried for i in both if (one := after[i]) is not None)
    if carried:
        notes.append(f"{carried:,} tokens are sent again that the shrunken prompts had dropped (estimated)")
    warmed = sum(e is not None and e.warmed for e in log.expectations)
    if warmed:
        notes.append(f"reads of what unlogged calls had written are on neither side ({warmed:,} in the log)")
    if any(e is not None and e.rule.best_effort for e in log.expectations):
        notes.append("some providers promise nothing: their side is the most that can be read")
    return tuple(notes)
