"""A prompt as a strip: its width is its tokens; one band says what was read, the other what the segments are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from hitledger.results import CallResult, SegmentResult
from hitledger.types import Kind
from hitledger_reports.view.paths import rectangles, scaled

USAGE_TOP, USAGE_HEIGHT = 0, 9
KINDS_TOP, KINDS_HEIGHT = 10, 6
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


@dataclass(frozen=True, slots=True)
class Band:
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


def kind_bands(
    segments: Sequence[SegmentResult], total: int | None, most: int, top: int = KINDS_TOP, height: int = KINDS_HEIGHT
) -> tuple[Band, ...]:
    """Segments in prompt order, neighbours of one kind as one; stretched to `total` tokens where that is known."""
    counted = sum(segment.tokens or 0 for segment in segments)
    if not counted:
        return ()
    stretch = (total or counted) / counted
    spans: dict[Kind, list[tuple[int, int]]] = {}
    position = 0
    for kind, run in groupby(segments, key=lambda segment: segment.kind):
        start, position = position, position + sum(segment.tokens or 0 for segment in run)
        spans.setdefault(kind, []).append((scaled(start * stretch, most), scaled(position * stretch, most)))
    return tuple(Band(f"k-{kind.value}", rectangles(spans[kind], top, height)) for kind in KIND_NAMES if kind in spans)
