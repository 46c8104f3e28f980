"""What the same calls would have cost under other rules, with other marks, elsewhere, or with their breaks mended."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal

from msgspec.structs import replace

from hitledger.billing import all_classes_logged, trusted_cost
from hitledger.chains import Link, linked
from hitledger.errors import UsageError
from hitledger.expect import Expectation, Forecaster, rule_of
from hitledger.lifetimes import seconds_of
from hitledger.policies.rules import Rules
from hitledger.positions import Positions
from hitledger.prices import PriceBook
from hitledger.tokens import TokenCounter
from hitledger.types import Call, Certainty
from hitledger.verdicts import Judge, MinLoss
from hitledger.whatif import changes
from hitledger.whatif.compactions import Compactions, compactions_of
from hitledger.whatif.money import prices_of, total_of
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
    certainty: Certainty = Certainty.ESTIMATED  # of the cost; whatever is simulated is an estimate

    @property
    def hit_rate(self) -> float | None:
        """Cache-read tokens over all input tokens."""
        return self.read / self.input_tokens if self.input_tokens else None


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
    other = _changed(base, change, rules)
    before = _simulate(base, log, rules, counter, compacted=compacted)
    after = _simulate(other, log, _with_default(rules, change.lifetime), counter, mended, compacted)
    both = [i for i, (one, two) in enumerate(zip(before, after, strict=True)) if one is not None and two is not None]
    return WhatIf(
        before=_sum(base, before, both, book),
        after=_sum(other, after, both, book),
        logged=_logged(log.calls, both, book),
        mended=tuple(sorted(Counter(log.causes[index] for index in mended).items())),
        compactions=compactions_of(log.links, before, compacted, book),
        not_simulated=len(calls) - len(both),
        notes=_notes(log, change, after, both) + _kept(other, change.lifetime, both, rules),
    )


def _read(calls: Sequence[Call], rules: Rules, counter: TokenCounter) -> _Log:
    links = linked(calls)
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


def _changed(calls: Sequence[Call], change: Change, rules: Rules) -> Sequence[Call]:
    provider = change.provider.lower()
    known = {rule.provider for rule in rules.all}
    if provider and provider not in known:
        raise UsageError(f"--provider {change.provider}: no rules of it; there are rules of {', '.join(sorted(known))}")
    if change.model:
        calls = changes.with_model(calls, change.model, provider)
    elif provider:
        calls = changes.with_provider(calls, provider)
    if change.marks:
        calls = changes.with_marks(calls, change.marks, change.lifetime or "5m")
    return _with_lifetime(calls, change.lifetime, rules) if change.lifetime else calls


def _with_lifetime(calls: Sequence[Call], lifetime: str, rules: Rules) -> list[Call]:
    """The lifetime where the provider has it. Raises UsageError where none has: nobody says how long it would live."""
    if not seconds_of(lifetime):
        raise UsageError(f"--lifetime {lifetime}: give it like 5m or 1h")
    known = [_lifetimes(call, rules) for call in calls]
    if not any(lifetime in ids for ids in known):
        names = sorted({name for ids in known for name in ids}, key=seconds_of)
        raise UsageError(f"--lifetime {lifetime}: these calls' providers have {', '.join(names) or 'no lifetimes'}")
    found: list[Call] = []
    for call, ids in zip(calls, known, strict=True):
        found += changes.with_lifetime([call], lifetime) if lifetime in ids else [call]
    return found


def _lifetimes(call: Call, rules: Rules) -> tuple[str, ...]:
    """Names of the lifetimes that a call's provider publishes."""
    rule = rule_of(call, rules)
    return tuple(row.id for row in rule.lifetimes if row.seconds) if rule is not None else ()


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
    costs = prices_of(book, (replace(call, usage=one.usage(call)) for call, one in found))
    return Outcome(
        calls=len(found),
        input_tokens=sum(one.input_tokens for _, one in found),
        read=sum(one.read for _, one in found),
        written=sum(one.written for _, one in found),
        cost=total_of(costs),
        unpriced=sum(cost is None for cost in costs),
    )


def _logged(calls: Sequence[Call], both: Sequence[int], book: PriceBook) -> Outcome:
    known = [(calls[index], usage) for index in both if (usage := calls[index].usage) is not None]
    costs = prices_of(book, (call for call, _ in known))
    return Outcome(
        calls=len(known),
        input_tokens=sum(usage.input_tokens for _, usage in known),
        read=sum(usage.cache_read_tokens or 0 for _, usage in known),
        written=sum(usage.cache_write_tokens or 0 for _, usage in known),
        cost=total_of(costs),
        unpriced=sum(cost is None for cost in costs),
        certainty=Certainty.EXACT if all(_exact(call) for call, _ in known) else Certainty.ESTIMATED,
    )


def _exact(call: Call) -> bool:
    return trusted_cost(call) is not None or all_classes_logged(call.usage)


def _kept(calls: Sequence[Call], lifetime: str, both: Sequence[int], rules: Rules) -> tuple[str, ...]:
    """Says how many calls could not take the lifetime."""
    kept = sum(lifetime not in _lifetimes(calls[index], rules) for index in both) if lifetime else 0
    return (f"{kept:,} calls keep their lifetime: their providers have none of {lifetime}",) if kept else ()


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
