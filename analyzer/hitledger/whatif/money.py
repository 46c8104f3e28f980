"""What calls of a simulation cost: never by a default, and None where one has no price."""

from collections.abc import Sequence
from decimal import Decimal

from hitledger.billing import cost_of, rates_of
from hitledger.prices import PriceBook, Rates, UnknownPrice
from hitledger.types import Call


def total_of(costs: Sequence[Decimal | None]) -> Decimal | None:
    """The sum of those that have a price; None where none has."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known else None


def price_of(book: PriceBook, call: Call) -> Decimal | None:
    """USD of a call; None where it has no price."""
    if call.usage is None:
        return call.logged_cost
    rates = rates_of(book, call, call.usage.input_tokens)
    try:
        cost = cost_of(call, rates if isinstance(rates, Rates) else None)
    except UnknownPrice:
        return None
    return cost.total if cost is not None else None
