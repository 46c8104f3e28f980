"""What each call costs and at which rates, or why it has no price; what a break added."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from hitledger.billing import Cost, cost_of, cost_of_break, rates_of, taken_for_granted, trusted_cost
from hitledger.errors import HitledgerError
from hitledger.expect import Expectation
from hitledger.prices import PriceBook, Rates, UnknownPrice
from hitledger.types import CacheWrite, Call, Usage


class CallMoney(msgspec.Struct, frozen=True, gc=False):
    """What a call costs, at which rates; `error` says why it has no price."""

    cost: Cost | None
    rates: Rates | None
    error: str | None


def money_of(book: PriceBook, call: Call, expectation: Expectation | None) -> CallMoney:
    """The cost from the log, from logged usage, or from what the rule expects; an unknown price is said."""
    usage = call.usage
    expected = _expected_usage(expectation) if usage is None else None
    if usage is None:
        usage = expected
    if call.status >= 400 or (usage is None and trusted_cost(call) is None):
        return CallMoney(None, None, None)
    rates = rates_of(book, call, usage.input_tokens if usage is not None else 0)
    known, reason = (rates, None) if isinstance(rates, Rates) else (None, str(rates))
    try:
        return CallMoney(cost_of(call, known, expected), known, reason)
    except UnknownPrice as error:
        return CallMoney(None, known, reason or str(error))


def _expected_usage(expectation: Expectation | None) -> Usage | None:
    """What the rule says of a call whose usage was not logged; its answer is not known."""
    if expectation is None:
        return None
    forecast, total = expectation.forecast, expectation.view.tokens_at(expectation.view.length)
    writes = tuple(CacheWrite(ttl, tokens) for ttl, tokens in forecast.writes)
    written = sum(write.tokens for write in writes)
    return Usage(max(0, total - forecast.read - written), forecast.read, writes, None)


def refuse_unpriced(calls: Sequence[Call], money: Sequence[CallMoney]) -> None:
    """Raises HitledgerError that names the first call without a price."""
    for call, item in zip(calls, money, strict=True):
        if item.cost is None and item.error is not None:
            raise HitledgerError(f"{call.place.file}:{call.place.row}: {item.error} (--strict); give it with --prices")


class BreakCost(msgspec.Struct, frozen=True, gc=False):
    """What a break added to the bill. `total` None: that has no price."""

    total: Decimal | None
    exact: bool = True  # whether its price takes nothing for granted


def break_cost(call: Call, rebilled: int, rates: Rates | None) -> BreakCost:
    """What the rebilled tokens cost more than reading them would have."""
    if rates is None or call.usage is None:
        return BreakCost(None)
    try:
        return BreakCost(cost_of_break(call, rebilled, rates), not taken_for_granted(call, rates))
    except UnknownPrice:
        return BreakCost(None)
