"""What a call cost, and what a break added to it. Money is Decimal USD.

Order of truth: the cost in the log unless it is known to leave something out, then logged usage times the price at that
time, then expected tokens times price.
"""

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum

import msgspec

from hitledger.lifetimes import seconds_of
from hitledger.prices import PriceBook, Rates, UnknownPrice, WriteRate
from hitledger.types import CacheWrite, Call, Evidence, Usage

# Notes of readers: this log's own cost is known to be too low.
COST_LEAVES_OUT = {"logged_cost_omits_output": "output"}


class CostSource(StrEnum):
    """What a cost rests on, best first."""

    LOGGED = "logged"
    USAGE = "usage x price"
    EXPECTED = "expected x price"


LOGGED, BY_USAGE = CostSource.LOGGED, CostSource.USAGE  # attributes of an enumeration are found slowly


class Cost(msgspec.Struct, frozen=True, gc=False):
    """USD of one call."""

    total: Decimal
    source: CostSource
    notes: tuple[str, ...] = ()  # what it takes for granted, where usage and prices do not say all


def rates_of(book: PriceBook, call: Call, prompt_tokens: int) -> Rates | UnknownPrice:
    """Rates of a call: of the model that was served, or where that has no price, of the one asked for."""
    at, tier = call.started_at, call.tier
    found = book.find(call.served_model or call.model, call.provider, at, tier, prompt_tokens)
    if isinstance(found, Rates) or call.served_model in ("", call.model):
        return found
    asked = book.find(call.model, call.provider, at, tier, prompt_tokens)
    return asked if isinstance(asked, Rates) else found


def costs_of(book: PriceBook, calls: Iterable[Call]) -> tuple[Cost | UnknownPrice | None, ...]:
    """Costs of many calls from their logs, in order; each distinct price is worked out once."""
    return tuple(_cost(book, call) for call in calls)


def _cost(book: PriceBook, call: Call) -> Cost | UnknownPrice | None:
    if trusted_cost(call) is not None or call.usage is None:
        return cost_of(call, None)
    rates = rates_of(book, call, call.usage.input_tokens)
    try:
        return rates if isinstance(rates, UnknownPrice) else cost_of(call, rates)
    except UnknownPrice as unknown:
        return unknown


def cost_of(call: Call, rates: Rates | None, expected: Usage | None = None) -> Cost | None:
    """The cost of a call. None: refused, or nothing to price. Raises UnknownPrice where a class has no rate.

    `rates` may be None where the log holds the cost. `expected` is used only where the log holds no usage.
    """
    if call.logged_cost is not None:
        logged = trusted_cost(call)
        if logged is not None:
            return Cost(logged, LOGGED)
    usage, source = call.usage, BY_USAGE
    if usage is None:
        usage, source = expected, CostSource.EXPECTED
    if usage is None or call.status >= 400:
        return None
    if rates is None:
        raise UnknownPrice(call.model, call.provider, "no rates were found")
    return _priced(call, usage, rates, source)


def trusted_cost(call: Call) -> Decimal | None:
    """The cost in the log, None where there is none or it is known to leave something out."""
    if call.logged_cost is None or not COST_LEAVES_OUT.keys().isdisjoint(call.notes):
        return None
    return call.logged_cost


def is_exact(cost: Cost, usage: Usage | None) -> bool:
    """Whether all that makes up a cost is known: the log has it, or every class of tokens that is billed."""
    return cost.source is LOGGED or (not cost.notes and all_classes_logged(usage))


def all_classes_logged(usage: Usage | None) -> bool:
    """Whether every class of tokens that is billed stands in the log."""
    if usage is None or usage.output_estimated:
        return False
    return usage.cache_read_tokens is not None and usage.output_tokens is not None


def computed_cost(call: Call, rates: Rates | None) -> Decimal | None:
    """Logged usage times price whatever the log says of the cost; None where either is missing."""
    if call.usage is None or rates is None or call.status >= 400:
        return None
    try:
        return _priced(call, call.usage, rates, CostSource.USAGE).total
    except UnknownPrice:
        return None


def _priced(call: Call, usage: Usage, rates: Rates, source: CostSource) -> Cost:
    notes, output = rates.notes, usage.output_tokens
    total = usage.uncached_input_tokens * rates.input + (usage.cache_read_tokens or 0) * rates.cache_read
    for write in _settled_writes(call, usage):
        rate = _write_rate(call, write, rates)
        total += write.tokens * rate.rate
        if rate.note or not write.ttl:
            notes += _write_notes(write, rate, rates)
    if output is None:
        notes += ("output not reported: the cost is a lower bound",)
    elif rates.output is not None:
        total += output * rates.output
    elif output:
        raise UnknownPrice(call.model, call.provider, "no price for generated tokens")
    return Cost(total, source, notes)


def cost_of_break(call: Call, rebilled_tokens: int, rates: Rates) -> Decimal:
    """What the rebilled tokens cost more than reading them would have. Raises UnknownPrice.

    rebilled_tokens x (the rate this call paid for them - its read rate): written tokens first, each at the write rate
    of its lifetime, the rest at the input rate. Writes with longer lifetimes come first, because they stand first in
    the prompt (Anthropic bills read up to A, then 1h writes up to B, then 5m writes up to C).
    """
    left, paid = rebilled_tokens, Decimal(0)
    for write in _settled_writes(call, call.usage):
        taken = min(left, write.tokens)
        if taken:
            paid += taken * (_write_rate(call, write, rates).rate - rates.cache_read)
            left -= taken
    return paid + left * (rates.input - rates.cache_read)


def taken_for_granted(call: Call, rates: Rates) -> tuple[str, ...]:
    """What the price of a call's input rests on besides the log and the list. Raises UnknownPrice."""
    notes = rates.notes
    for write in _settled_writes(call, call.usage):
        notes += _write_notes(write, _write_rate(call, write, rates), rates)
    return notes


def _settled_writes(call: Call, usage: Usage | None) -> tuple[CacheWrite, ...]:
    """Writes in the order billed. Where the usage does not say the lifetime, the request's only one does."""
    writes = (usage.cache_writes if usage else None) or ()
    if len(writes) == 1 and writes[0].ttl:
        return writes
    if (
        any(not write.ttl for write in writes) and call.evidence is not Evidence.RECONSTRUCTED
    ):  # a transcript has no marks
        marks = {segment.mark for segment in call.prompt.segments() if segment.mark}
        if len(marks) == 1:
            only = marks.pop()
            writes = tuple(CacheWrite(write.ttl or only, write.tokens) for write in writes)
    return tuple(sorted(writes, key=lambda write: -seconds_of(write.ttl)))


def _write_rate(call: Call, write: CacheWrite, rates: Rates) -> WriteRate:
    rate = rates.write(write.ttl)
    if rate is None:
        raise UnknownPrice(call.model, call.provider, f"no price for writes with lifetime {write.ttl!r}")
    return rate


def _write_notes(write: CacheWrite, rate: WriteRate, rates: Rates) -> tuple[str, ...]:
    """Where lifetimes differ in price and none is logged, the default one is taken and said."""
    several = len({each.rate for each in rates.cache_writes}) > 1
    assumed = "write lifetime not logged: priced as the default one" if several and not write.ttl else ""
    return tuple(filter(None, (rate.note, assumed)))
