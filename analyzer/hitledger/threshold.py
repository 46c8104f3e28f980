"""`--fail-over`: how much may be lost to breaks before the program says no."""

from decimal import Decimal, InvalidOperation
from enum import StrEnum

from msgspec import Struct

from hitledger.columns import columns
from hitledger.errors import HitledgerError, UsageError
from hitledger.results import Audit

LARGEST = 10**18


class Unit(StrEnum):
    """What is measured: the share of the bill, money, or rebilled tokens lost to breaks."""

    PERCENT = "%"
    USD = "usd"
    TOKENS = "tokens"


class Threshold(Struct, frozen=True):
    """A limit; reaching it is still allowed."""

    limit: Decimal
    unit: Unit

    def measured(self, audit: Audit) -> Decimal:
        """The figure that is held against the limit.

        Raises HitledgerError where it would be too low: no call could be judged, or money is asked for and a call has no
        price.
        """
        totals = audit.totals
        (ideal,) = columns(audit.calls, "ideal_cache_read_tokens")
        if ideal and all(best is None for best in ideal):
            raise HitledgerError(
                f"--fail-over {self}: no call of this log could be judged, so no limit can be held; the report says why"
            )
        if self.unit is Unit.TOKENS:
            return Decimal(totals.rebilled_tokens)
        unpriced = [item for item in audit.breaks if item.cost is None]
        if unpriced or (self.unit is Unit.PERCENT and totals.calls_without_price):
            raise HitledgerError(
                f"--fail-over {self}: {totals.calls_without_price} calls have no price; give it with --prices, "
                "or set the limit in tokens"
            )
        lost = totals.break_cost or Decimal(0)
        if self.unit is Unit.USD:
            return lost
        return Decimal(0) if not totals.cost else 100 * lost / totals.cost

    def written(self, audit: Audit) -> str:
        """The same figure with its unit."""
        figure = self.measured(audit)
        return f"{figure:,} tokens" if self.unit is Unit.TOKENS else f"{figure:,.4f}{self.unit}"

    def exceeded(self, audit: Audit) -> bool:
        """Whether more was lost than allowed."""
        return self.measured(audit) > self.limit

    def __str__(self) -> str:
        return f"{self.limit}{self.unit}"


def parse_threshold(text: str) -> Threshold:
    """`5%`, `2.50usd` or `10000tokens`. Raises UsageError."""
    for unit in Unit:
        if text.lower().endswith(unit):
            try:
                limit = Decimal(text[: -len(unit)].strip())
            except InvalidOperation:
                break
            if limit.is_finite() and 0 <= limit <= LARGEST:
                return Threshold(limit, unit)
            break
    raise UsageError(f"--fail-over {text}: give a share of the bill, money or tokens: 5%, 2.50usd, 10000tokens")
