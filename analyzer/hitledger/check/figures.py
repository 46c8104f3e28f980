"""Figures of the two sides, as they go into the result."""

from dataclasses import dataclass
from decimal import Decimal

MICRO = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Shares:
    """A share on either side, None where it is not known."""

    before: float | None
    after: float | None

    @property
    def drop(self) -> float | None:
        """How far it fell, negative where it rose."""
        return None if self.before is None or self.after is None else self.before - self.after


@dataclass(frozen=True, slots=True)
class Amounts:
    """USD on either side, to the millionth; None where a price is not known."""

    before: Decimal | None
    after: Decimal | None

    @property
    def change(self) -> Decimal | None:
        """How much more."""
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class Tokens:
    """Prompt tokens on either side."""

    before: int
    after: int


def usd(value: Decimal) -> Decimal:
    """To the millionth of a dollar, and written without an exponent."""
    return value.quantize(MICRO) if value else Decimal(0)
