"""Names of cache lifetimes, as requests and usage write them."""

import re
from functools import lru_cache

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LIFETIME = re.compile(r"([0-9]{1,9})([smhd])")


@lru_cache(maxsize=256)
def seconds_of(ttl: str) -> int:
    """Seconds of a lifetime written like "5m" or "1h"; 0 where it is not written so."""
    match = LIFETIME.fullmatch(ttl)
    return int(match[1]) * UNITS[match[2]] if match else 0
