"""The pause before a call, drawn to scale: the middle of the bar is the end of the lifetime."""

from msgspec import Struct

from hitledger.lifetimes import seconds_of
from hitledger_reports import figures
from hitledger_reports.view.paths import rectangles, scaled

WIDTH = 100


class Gap(Struct, frozen=True):
    """`path` is SVG path data on a width of 100, the lifetime ends at 50; "" where there is nothing to draw."""

    text: str
    path: str
    expired: bool
    beyond: bool  # longer than the picture


def gap(seconds: float | None, ttl: str | None) -> Gap:
    """The pause of a call whose entries live for `ttl`."""
    lifetime = seconds_of(ttl or "")
    if seconds is None or seconds < 0 or not lifetime:
        return Gap(figures.duration(seconds), "", False, False)
    path = rectangles([(0, scaled(seconds, 2 * lifetime, WIDTH))], 0, 4)
    return Gap(figures.duration(seconds), path, seconds > lifetime, seconds > 2 * lifetime)
