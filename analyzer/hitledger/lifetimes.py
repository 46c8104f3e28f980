"""Names of cache lifetimes, as requests and usage write them."""

from functools import lru_cache

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@lru_cache(maxsize=256)
def seconds_of(ttl: str) -> int:
    """Seconds of a lifetime written like "5m" or "1h"; 0 where it is not written so."""
    number, unit = ttl[:-1], ttl[-1:]
    return int(number) * UNITS[unit] if number.isdecimal() and unit in UNITS else 0
