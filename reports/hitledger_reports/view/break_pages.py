"""A break in detail: both prompts as strips, the segments around the first difference, the money before and after."""

from collections.abc import Sequence

from msgspec import Struct

from hitledger.results import Audit, Break, CallResult, SegmentResult
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.shown import PATH, shown
from hitledger_reports.view.breaks import BreakView, break_view
from hitledger_reports.view.fixes import Fix, fixes
from hitledger_reports.view.groups import cost_sure, sure
from hitledger_reports.view.measured import measured_text
from hitledger_reports.view.paths import WIDTH, rectangles, scaled
from hitledger_reports.view.session_pages import Context
from hitledger_reports.view.strips import KIND_NAMES, Band, kind_bands, legend, usage_bands

LOST_TOP, LOST_HEIGHT = 18, 4  # below the two bands
AROUND = 2
FAR = 1_000  # tokens


class PromptStrip(Struct, frozen=True):
    """One of the two prompts."""

    label: str
    tokens: str
    usage: tuple[Band, ...]
    kinds: tuple[Band, ...]
    lost: str  # SVG path data over what was readable and not read; "" where there is nothing to show


class SegmentRow(Struct, frozen=True):
    """A segment on both sides; `verdict` is same, differs, only before or only now."""

    before: str
    before_tokens: str
    now: str
    now_tokens: str
    verdict: str


class BreakPage(Struct, frozen=True):
    """One break in detail."""

    view: BreakView
    strips: tuple[PromptStrip, ...]
    mark: int | None  # where the first difference lies, of 1,000
    scale: int  # tokens that the whole width stands for
    kinds: tuple[tuple[str, str], ...]  # that occur: class of the style sheet, words
    fell_back: str  # why less was read than the prompts share, "" where there is nothing to say
    segments: tuple[SegmentRow, ...]
    paid: str
    mended: str
    expected: str
    sketch: Fix | None  # of the request before and after the fix
    measured: str
    previous: int | None
    following: int | None


def break_page(
    number: int,
    audit: Audit,
    calls: dict[str, CallResult],
    known: Context,
    pages: int,
    show_secrets: bool = False,
) -> BreakPage:
    """The break of this rank, from 1, of `pages` that have a page."""
    found = audit.breaks[number - 1]
    call = calls.get(found.call)
    earlier = calls.get((call.predecessor or call.compared_with or "") if call else "")
    before = known.prompts.segments(earlier) if earlier else ()
    now = known.prompts.segments(call) if call else ()
    most = max((one.input_tokens or 0 for one in (call, earlier) if one), default=0)
    mended = call.cost - found.cost if call and call.cost is not None and found.cost is not None else None
    bill = sure(call, "cost") if call else Certainty.EXACT
    strips = _strips(found, earlier, call, before, now, most)
    return BreakPage(
        view=break_view(number, found, call, show_secrets),
        strips=strips,
        scale=most,
        kinds=legend(band for strip in strips for band in strip.kinds),
        fell_back=_fell_back(found, call),
        mark=scaled(found.token_offset, most) if found.token_offset is not None and most else None,
        segments=_around(before, now, _certainty(earlier), _certainty(call)),
        paid=figures.usd(call.cost if call else None, bill),
        mended=figures.usd(mended, figures.weakest((bill, cost_sure(found)))),
        expected=_expected(call),
        sketch=fixes().get(found.cause),
        measured=measured_text(found.call, known.measured),
        previous=number - 1 if number > 1 else None,
        following=number + 1 if number < pages else None,
    )


def _strips(
    found: Break,
    earlier: CallResult | None,
    call: CallResult | None,
    before: Sequence[SegmentResult],
    now: Sequence[SegmentResult],
    most: int,
) -> tuple[PromptStrip, ...]:
    strips: list[PromptStrip] = []
    for one, segments, words in ((earlier, before, "the call before"), (call, now, "this call")):
        if one is None or not one.input_tokens:
            continue
        start = one.cache_read_tokens if one is call else found.readable_before - found.lost_tokens
        length = found.rebilled_tokens if one is call else found.lost_tokens
        end = min((start or 0) + length, one.input_tokens)
        strips.append(
            PromptStrip(
                label=f"call {one.index_in_session:,}, {words}",
                tokens=figures.count(one.input_tokens),
                usage=usage_bands(one, most),
                kinds=kind_bands(segments, one.input_tokens, most),
                lost=rectangles([(scaled(start or 0, most), min(scaled(end, most), WIDTH))], LOST_TOP, LOST_HEIGHT),
            )
        )
    return tuple(strips)


def _fell_back(found: Break, call: CallResult | None) -> str:
    """Reads end where an entry ends, which can be far in front of the first difference."""
    read = call.cache_read_tokens if call else None
    if call is None or read is None or found.token_offset is None or found.token_offset - read < FAR:
        return ""
    offset = figures.count(found.token_offset, sure(call, "segments"))
    return (
        f"Both prompts are the same up to token {offset}, yet only {read:,} were read: a cache is read only up to "
        "where one of its entries ends, and the next entry back ended there."
    )


def _expected(call: CallResult | None) -> str:
    field = "expected_cache_read_tokens"
    return figures.count(call.expected_cache_read_tokens, sure(call, field)) if call else figures.UNKNOWN


def _certainty(call: CallResult | None) -> Certainty:
    return sure(call, "segments") if call else Certainty.EXACT


def _around(
    before: Sequence[SegmentResult], now: Sequence[SegmentResult], sure_before: Certainty, sure_now: Certainty
) -> tuple[SegmentRow, ...]:
    """The segments around the first that differs; none where one prompt only continues the other."""
    pairs = zip(before, now, strict=False)
    first = next((place for place, (old, new) in enumerate(pairs) if old.digest != new.digest), None)
    if first is None:
        return ()
    places = range(max(first - AROUND, 0), min(first + AROUND + 1, max(len(before), len(now))))
    return tuple(
        SegmentRow(_name(old), _tokens(old, sure_before), _name(new), _tokens(new, sure_now), _verdict(old, new))
        for old, new in ((_at(before, place), _at(now, place)) for place in places)
    )


def _at(segments: Sequence[SegmentResult], place: int) -> SegmentResult | None:
    return segments[place] if place < len(segments) else None


def _verdict(old: SegmentResult | None, new: SegmentResult | None) -> str:
    if old and new:
        return "same" if old.digest == new.digest else "differs"
    return "only before" if old else "only now"


def _name(segment: SegmentResult | None) -> str:
    return f"{shown(segment.path, PATH) or 'start'} ({KIND_NAMES[segment.kind]})" if segment else ""


def _tokens(segment: SegmentResult | None, certainty: Certainty) -> str:
    return figures.count(segment.tokens, certainty) if segment else ""
