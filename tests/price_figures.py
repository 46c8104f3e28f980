"""What the tests of prices share: a time, and rates written out."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hitledger.prices import Rates

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


def at(text: str) -> datetime:
    """A time, UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def million(rates: Rates, lifetimes: Sequence[str] = ()) -> list[str]:
    """input, read, output and writes of the lifetimes, per million tokens."""
    writes = [rates.write(lifetime) for lifetime in lifetimes]
    values = [rates.input, rates.cache_read, rates.output, *(write.rate if write else None for write in writes)]
    return ["-" if value is None else format((value * 1_000_000).normalize(), "f") for value in values]
