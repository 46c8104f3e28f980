"""A prompt as a strip: its width is its tokens; one band says what was read, the other what the segments are."""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from hitledger.results import CallResult, SegmentResult
from hitledger.types import Kind
from hitledger_reports.view.paths import WIDTH, rectangles, scaled

USAGE_TOP, USAGE_HEIGHT = 0, 9
KINDS_TOP, KINDS_HEIGHT = 10, 6
STEPS = 125
# Plain words for the legend, in the order of the legend.
KIND_NAMES: dict[Kind, str] = {
    Kind.TOOL: "tool definition",
    Kind.SCHEMA: "output schema",
    Kind.SYSTEM: "system",
    Kind.TEXT: "text",
    Kind.THINKING: "thinking",
    Kind.TOOL_USE: "tool call",
    Kind.TOOL_RESULT: "tool result",
    Kind.IMAGE: "image",
    Kind.DOCUMENT: "document",
    Kind.TOKENS: "token ids",
    Kind.HIDDEN: "not in the log",
}


class Band(Struct, frozen=True):
    """Rectangles of one colour: `style` is a class of the style sheet, `path` SVG path data."""

    style: str
    path: str


def usage_bands(call: CallResult, most: int) -> tuple[Band, ...]:
    """Read, written and uncached tokens from the left, on a scale where `most` tokens are the whole width."""
    bands: list[Band] = []
    position = 0
    for style, tokens in (
        ("read", call.cache_read_tokens),
        ("written", call.cache_write_tokens),
        ("uncached", call.uncached_input_tokens),
    ):
        if tokens:
            start, position = position, position + tokens
            left = scaled(start, most)
            bands.append(
                Band(style, rectangles([(left, max(scaled(position, most), left + 1))], USAGE_TOP, USAGE_HEIGHT))
            )
    return tuple(bands)


def legend(bands: Iterable[Band]) -> tuple[tuple[str, str], ...]:
    """The kinds that occur: class of the style sheet and words, in the order of the legend."""
    found = {band.style for band in bands}
    return tuple((f"k-{kind.value}", name) for kind, name in KIND_NAMES.items() if f"k-{kind.value}" in found)


def kind_bands(segments: Sequence[SegmentResult], total: int | None, most: int, steps: int = STEPS) -> tuple[Band, ...]:
    """What the prompt is made of, stretched to `total` tokens where that is known.

    The width is cut into `steps`, each of which shows the kind that fills most of it; so a strip of thousands of
    segments stays small.
    """
    counted = sum(segment.tokens or 0 for segment in segments)
    if not counted or most <= 0:
        return ()
    length = min(1.0, (total or counted) / most) * steps  # in steps
    filled: list[dict[Kind, float]] = [{} for _ in range(math.ceil(length))]
    position = 0.0
    for segment in segments:
        start, position = position, position + (segment.tokens or 0) / counted * length
        for step in range(int(start), min(math.ceil(position), len(filled))):
            inside = min(position, step + 1) - max(start, step)
            filled[step][segment.kind] = filled[step].get(segment.kind, 0.0) + inside
    end = round(length / steps * WIDTH)
    spans: dict[Kind, list[tuple[int, int]]] = {}
    step = 0
    for kind, run in groupby(max(kinds, key=kinds.__getitem__, default=None) for kinds in filled):
        start_of_run, step = step, step + len(list(run))
        if kind is not None:
            span = (start_of_run * WIDTH // steps, min(step * WIDTH // steps, max(end, 1)))
            spans.setdefault(kind, []).append(span)
    return tuple(
        Band(f"k-{kind.value}", rectangles(spans[kind], KINDS_TOP, KINDS_HEIGHT))
        for kind in KIND_NAMES
        if kind in spans
    )
