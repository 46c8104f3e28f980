"""One drawing for the calls whose prompts grow out of each other: each shows as much of it as it is long."""

from collections.abc import Sequence

from msgspec import Struct

from hitledger.results import CallResult, SegmentResult
from hitledger_reports.view.paths import scaled
from hitledger_reports.view.prompts import Prompts
from hitledger_reports.view.strips import Band, kind_bands

STEPS_SHARED = 250
STEPS_ALONE = 50


class Drawing(Struct, frozen=True):
    """Bands that calls show the beginning of. `number` is unique in its session."""

    number: int
    bands: tuple[Band, ...]


class Shown(Struct, frozen=True):
    """The drawing that a call shows the first `width` of 1,000 units of."""

    drawing: int
    width: int


def shared_bands(
    calls: Sequence[CallResult], most: int, prompts: Prompts, first: int
) -> tuple[tuple[Drawing, ...], dict[str, Shown]]:
    """Drawings of these calls of one agent, numbered from `first`, and which one each call shows.

    A call without counted segments shows none.
    """
    drawings: list[Drawing] = []
    shown: dict[str, Shown] = {}
    group: list[CallResult] = []
    longest: Sequence[SegmentResult] = ()

    def draw() -> None:
        if group:
            total = max(call.input_tokens or 0 for call in group)
            bands = kind_bands(longest, total, most, STEPS_SHARED if len(group) > 1 else STEPS_ALONE)
            number = first + len(drawings)
            drawings.append(Drawing(number, bands))
            shown.update({call.id: Shown(number, scaled(call.input_tokens or 0, most)) for call in group if bands})

    for call in calls:
        if not call.input_tokens:
            continue
        segments = prompts.segments(call)
        if not _grown(longest, segments):
            draw()
            group = []
        group.append(call)
        longest = segments
    draw()
    return tuple(drawings), shown


def _grown(before: Sequence[SegmentResult], now: Sequence[SegmentResult]) -> bool:
    """Whether `now` looks like `before` with more behind it."""
    return len(now) >= len(before) and all(
        old is new or (old.kind is new.kind and old.tokens == new.tokens) for old, new in zip(before, now, strict=False)
    )
