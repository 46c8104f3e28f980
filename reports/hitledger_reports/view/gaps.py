"""The pause before a call, drawn to scale: the middle of the bar is the end of the lifetime."""

import re
from dataclasses import dataclass

from hitledger_reports import figures
from hitledger_reports.view.paths import rectangles, scaled

_LIFETIME = re.compile(r"(\d{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Gap:
    """`path` is SVG path data on a width of 100, the lifetime ends at 50; "" where there is nothing to draw."""

    text: str
    path: str
    expired: bool
    beyond: bool  # longer than the picture


def lifetime_seconds(ttl: str | None) -> int | None:
    """Seconds of a provider's lifetime name ("5m", "1h", "300s"); None where it is not of this form."""
    match = _LIFETIME.fullmatch(ttl or "")
    return int(match[1]) * _SECONDS[match[2]] if match else None


def gap(seconds: float | None, ttl: str | None) -> Gap:
    """The pause of a call whose entries live for `ttl`."""
    lifetime = lifetime_seconds(ttl)
    if seconds is None or seconds < 0 or not lifetime:
        return Gap(figures.duration(seconds), "", False, False)
    path = rectangles([(0, scaled(seconds, 2 * lifetime, WIDTH))], 0, 4)
    return Gap(figures.duration(seconds), path, seconds > lifetime, seconds > 2 * lifetime)
