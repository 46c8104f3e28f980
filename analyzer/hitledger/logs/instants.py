"""A point in time in any of the spellings of logs, as a UTC datetime."""

from datetime import UTC, datetime, timedelta
from typing import Any

# An epoch number tells its unit by its size: seconds until the year 5138, then milli-, micro-, nanoseconds.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_EARLIEST = 1e8  # 1973: smaller numbers are durations or counters, not dates
# Other years are no times of calls: "0001-01-01T00:00:00Z" is how Go writes a time that was never set.
_YEARS = range(1970, 5138)


def instant(value: Any) -> datetime | None:
    """ISO 8601, an HTTP date, or an epoch number (as number or digits); None for anything else, and for years before 1970.

    A time without a zone is taken as UTC, which all formats read here write.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, datetime):
        return _utc(value)
    if isinstance(value, int | float):
        return _from_epoch(float(value))
    if not isinstance(value, str) or not value:
        return None
    return _from_text(value.strip())


def after(moment: datetime | None, milliseconds: Any) -> datetime | None:
    """The moment so many milliseconds later; None where either is not known."""
    if moment is None or isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    if not 0 <= milliseconds < 1e10:
        return None
    return moment + timedelta(milliseconds=milliseconds)


def _from_text(text: str) -> datetime | None:
    try:
        return _utc(datetime.fromisoformat(text))
    except ValueError:
        pass
    try:
        return _from_epoch(float(text))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime  # HTTP dates stand in few logs, and it loads sockets

    try:
        return _utc(parsedate_to_datetime(text))
    except (ValueError, TypeError):
        return None


def _from_epoch(number: float) -> datetime | None:
    for limit, per_second in _UNITS:
        if _EARLIEST <= number < limit:
            return datetime.fromtimestamp(number / per_second, UTC)
    return None


def _utc(moment: datetime) -> datetime | None:
    """The moment in UTC, None where its year cannot be one of a call."""
    if moment.year not in _YEARS:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
