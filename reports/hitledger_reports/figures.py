"""Numbers written out: units, thousands separators, UTC, and how sure each is. Unknown is a dash, never 0."""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

from hitledger.types import Certainty

UNKNOWN = "—"
SIGN = {Certainty.EXACT: "", Certainty.CALIBRATED: "≈", Certainty.ESTIMATED: "~"}
LEGEND = "Without a sign: exact (logged, or computed from logged figures alone). ≈ calibrated. ~ estimated. — unknown."


def minus(text: str) -> str:
    """A number with a minus sign where Python writes a hyphen."""
    return text.replace("-", "−")


def weakest(certainties: Iterable[Certainty]) -> Certainty:
    """The certainty of a sum: that of its least certain part."""
    return max(certainties, key=list(SIGN).index, default=Certainty.EXACT)


def count(value: int | None, certainty: Certainty = Certainty.EXACT) -> str:
    """A whole number, in full: 1,234,567."""
    return UNKNOWN if value is None else minus(f"{SIGN[certainty]}{value:,}")


def short(value: int | None, certainty: Certainty = Certainty.EXACT) -> str:
    """A whole number with three digits that count: 987, 12.3 k, 1.23 M, 4.56 G."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    for limit, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if size >= limit:
            scaled = value / limit
            digits = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
            return minus(f"{SIGN[certainty]}{scaled:,.{digits}f} {unit}")
    return count(value, certainty)


def usd(value: Decimal | None, certainty: Certainty = Certainty.EXACT) -> str:
    """Money in US dollars; below one dollar with four decimals, and never a rounded zero for what is not zero."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    minus, sign = ("−" if value < 0 else ""), SIGN[certainty]
    if size == 0:
        return f"{sign}$0"
    if size < Decimal("0.0001"):
        return f"{sign}{minus}<$0.0001"
    return f"{sign}{minus}${size:,.2f}" if size >= 1 else f"{sign}{minus}${size:.4f}"


def share(value: float | None, certainty: Certainty = Certainty.EXACT) -> str:
    """A share as a percentage. Rounding never gives 0 % or 100 % for what is neither."""
    if value is None:
        return UNKNOWN
    sign = SIGN[certainty]
    if value in (0, 1):
        return f"{sign}{value * 100:.0f} %"
    if 0 < value < 0.001:
        return f"{sign}<0.1 %"
    if 0.999 < value < 1:
        return f"{sign}>99.9 %"
    return minus(f"{sign}{value * 100:.1f} %")


def duration(seconds: float | None) -> str:
    """A span of time in its two largest units."""
    if seconds is None:
        return UNKNOWN
    minus, seconds = ("−" if seconds < 0 else ""), abs(seconds)
    if seconds < 59.5:
        return f"{minus}{seconds:.0f} s" if seconds >= 10 or seconds == 0 else f"{minus}{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, below, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // below
            return f"{minus}{whole // size:,} {unit}" + (f" {rest} {part}" if rest else "")
    return UNKNOWN


def utc(instant: datetime | None, seconds: bool = True) -> str:
    """An instant in UTC. The zone is said by the column or by the caller."""
    if instant is None:
        return UNKNOWN
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


def day(instant: datetime | None) -> str:
    """The day of an instant in UTC."""
    return "undated" if instant is None else instant.astimezone(UTC).strftime("%Y-%m-%d")


def plural(number: int, one: str, many: str = "") -> str:
    """A number and its word: 1 call, 2 calls."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
