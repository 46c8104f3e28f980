"""SVG path data from numbers. Pictures are 1,000 units wide and stretch to the width of the page."""

from collections.abc import Iterable, Sequence

WIDTH = 1000


def rectangles(spans: Iterable[tuple[int, int]], top: int, height: int) -> str:
    """Path data of rectangles from `start` to `end`, all at one height."""
    return "".join(f"M{start} {top}h{end - start}v{height}h{start - end}z" for start, end in spans if end > start)


def columns(bars: Iterable[tuple[int, int, int, int]]) -> str:
    """Path data of upright bars: left, right, top, bottom."""
    return "".join(f"M{left} {top}h{right - left}v{bottom - top}h{left - right}z" for left, right, top, bottom in bars)


def line(points: Sequence[tuple[int, int]]) -> str:
    """Path data of a line through the points."""
    return "M" + "L".join(f"{x} {y}" for x, y in points) if points else ""


def scaled(value: float, most: float, length: int = WIDTH) -> int:
    """`value` of `most` on a length, never outside it; at least 1 for what is not zero."""
    if value <= 0 or most <= 0:
        return 0
    return max(1, round(min(value / most, 1) * length))
