"""What calls of a simulation cost: never by a default, and None where one has no price."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from hitledger.billing import Cost, costs_of
from hitledger.prices import PriceBook
from hitledger.types import Call


def total_of(costs: Sequence[Decimal | None]) -> Decimal | None:
    """The sum of those that have a price; None where none has."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known else None


def prices_of(book: PriceBook, calls: Iterable[Call]) -> list[Decimal | None]:
    """USD of each call, in order; None for those without a price."""
    return [cost.total if isinstance(cost, Cost) else None for cost in costs_of(book, calls)]
