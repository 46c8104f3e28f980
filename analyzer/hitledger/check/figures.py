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
    """USD on either side; None where a price is not known."""

    before: Decimal | None
    after: Decimal | None

    @property
    def change(self) -> Decimal | None:
        """How much more."""
        return None if self.before is None or self.after is None else self.after - self.before

    def times(self, factor: Decimal) -> "Amounts":
        """Both sides scaled."""
        return Amounts(
            None if self.before is None else self.before * factor, None if self.after is None else self.after * factor
        )

    def rounded(self) -> "Amounts":
        """Both sides as they are written: to the millionth."""
        return Amounts(usd(self.before), usd(self.after))


@dataclass(frozen=True, slots=True)
class Tokens:
    """Prompt tokens on either side."""

    before: int
    after: int


def usd(value: Decimal | None) -> Decimal | None:
    """To the millionth of a dollar, and written without an exponent; None stays unknown."""
    return value if value is None else value.quantize(MICRO) if value else Decimal(0)
