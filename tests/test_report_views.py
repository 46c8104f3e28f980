"""Results -> view rows, each expectation worked out by hand from tests/report_audits.py."""

import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hitledger.causes.catalogue import catalogue
from hitledger.measurement import CallMeasurement, Measurement
from hitledger.results import Attribution, CallResult, SegmentResult
from hitledger.types import Certainty, Kind
from hitledger_reports.view.break_pages import break_page
from hitledger_reports.view.by import By
from hitledger_reports.view.excerpt import excerpt
from hitledger_reports.view.fixes import fixes
from hitledger_reports.view.gaps import gap
from hitledger_reports.view.group_tables import group_table
from hitledger_reports.view.groups import causes, sums
from hitledger_reports.view.heat import heat, heat_strip
from hitledger_reports.view.overview import overview
from hitledger_reports.view.paths import line, rectangles, scaled
from hitledger_reports.view.prompts import Prompts
from hitledger_reports.view.report import report
from hitledger_reports.view.session_pages import CALLS_A_PAGE, context, session_page
from hitledger_reports.view.shared_bands import shared_bands
from hitledger_reports.view.strips import kind_bands, usage_bands
from hitledger_reports.view.table import cells
from hitledger_reports.view.trend import trend
from hitledger_reports.view.waterfall import waterfall
from report_audits import audit_of, broken, call, shop


def test_headline_of_the_shop() -> None:
    head = overview(shop())
    values = {figure.label: figure.value for figure in head.figures}
    # 11,500 and 15,700 tokens at (3.75 - 0.3) USD per million
    assert values["Lost to breaks"] == "≈$0.0938"
    assert values["Hit rate"] == "42.1 %"  # 43,900 of 104,336
    assert head.scope == "10 calls, 2 sessions, 1 sub-agent, 2 projects"
    assert head.period == "2026-03-02 09:00 to 2026-03-03 10:02 UTC"
    assert head.first is not None
    assert (head.first.cause, head.first.worst, head.first.cost) == ("ttl.expired", 1, "≈$0.0542")


def test_four_columns_say_what_they_do_not_know() -> None:
    ideal, expected, reported, measured = overview(shop()).columns
    assert ideal.tokens == "≈71,104"  # one of its calls is calibrated
    assert (expected.tokens, expected.share) == ("43,900", "42.1 %")
    assert reported.tokens == "43,900"
    assert (measured.tokens, measured.share, measured.path) == ("—", "—", "")


def test_parts_of_ideal_minus_reported() -> None:
    assert [(part.name, part.value) for part in overview(shop()).parts] == [
        ("Changed in the request", 11_500), ("Expired", 15_700), ("Unexplained", 4),
    ]  # fmt: skip


def test_more_read_than_ideal_is_explained() -> None:
    """4,000 tokens that no logged call had left are read, 1,000 of the 3,000 that one had left are not."""
    warmed = call(0, 4_000, 0, ideal_cache_read_tokens=0)
    missed = call(1, 2_000, 1_000, ideal_cache_read_tokens=3_000, attribution=Attribution(client=1_000))
    head = overview(audit_of([warmed, missed]))
    assert head.beyond_ideal == "More was read than ideal: 4,000 tokens of entries that calls outside the log had left."
    assert overview(audit_of([missed])).beyond_ideal == overview(shop()).beyond_ideal == ""


def test_money_of_an_unpriced_audit_is_unknown() -> None:
    one = call(0, 0, 5_000, cost=None, cost_without_cache=None, cost_source=None)
    lost = broken(one, "system.volatile_id", 5_000, cost=None)
    head = overview(audit_of([one], [lost]))
    assert [figure.value for figure in head.figures[:4]] == ["—", "—", "—", "—"]
    assert head.first is not None
    assert head.first.cost == "5,000 tokens"
    assert waterfall(audit_of([one], [lost])) == ()


def test_sums_by_day_and_model_add_up() -> None:
    audit = shop()
    days = sums(audit, By.DAY)
    assert list(days) == ["2026-03-02", "2026-03-03"]
    assert [day.calls for day in days.values()] == [7, 3]
    for by in (By.DAY, By.MODEL, By.SESSION, By.PROJECT, By.AGENT):
        groups = sums(audit, by).values()
        assert sum(group.input_tokens for group in groups) == audit.totals.input_tokens
        assert sum((group.break_cost or Decimal(0) for group in groups), Decimal(0)) == audit.totals.break_cost
    assert [(name, group.breaks) for name, group in sums(audit, By.AGENT).items()] == [("main", 2), ("sub-agents", 0)]


def test_causes_dearest_first() -> None:
    audit = shop()
    assert list(causes(audit.breaks)) == ["ttl.expired", "system.volatile_time"]
    rows = cells(group_table(audit, By.CAUSE))
    assert [cell.text for cell in rows[0]] == ["ttl.expired", "1", "≈15,700", "≈15,700", "≈$0.0542"]
    assert rows[1][3].text == "11,500"  # an exact row has no sign


def test_waterfall_runs_from_paid_to_mended() -> None:
    steps = waterfall(shop())
    assert [step.label for step in steps] == ["Paid", "ttl.expired", "system.volatile_time", "With every break mended"]
    assert steps[0].path == "M0 0h1000v10h-1000z"
    assert steps[-1].path == "M0 0h695v10h-695z"  # 0.213432 of 0.307272
    assert steps[1].path.startswith("M824 0")  # 1,000 - 54,165 of 307,272


def test_trend_needs_two_days() -> None:
    assert trend(audit_of([call(0, 0, 100)])) is None
    found = trend(shop())
    assert found is not None
    assert (found.first, found.last, found.most) == ("2026-03-02", "2026-03-03", "$0.2543")
    assert [bool(day.lost) for day in found.days] == [True, False]
    guessed = [replace(call(n, 0, 100, minute=1_440.0 * n), certainty={"cost": Certainty.ESTIMATED}) for n in range(2)]
    assert (found := trend(audit_of(guessed))) is not None
    assert found.most == "~$0.0079"


def test_usage_band_is_to_scale() -> None:
    bands = usage_bands(call(0, 500, 250, 250), 2_000)
    assert [(band.style, band.path) for band in bands] == [
        ("read", "M0 0h250v9h-250z"), ("written", "M250 0h125v9h-125z"), ("uncached", "M375 0h125v9h-125z"),
    ]  # fmt: skip


def test_kinds_are_merged_and_stretched_to_the_logged_total() -> None:
    segments = [
        SegmentResult(Kind.SYSTEM, "system[0]", 100, "a", False),
        SegmentResult(Kind.SYSTEM, "system[1]", 100, "b", False),
        SegmentResult(Kind.TEXT, "messages[0]", 200, "c", False),
    ]
    bands = kind_bands(segments, 800, 1_000)  # counted 400, logged 800
    assert [(band.style, band.path) for band in bands] == [
        ("k-system", "M0 10h400v6h-400z"),
        ("k-text", "M400 10h400v6h-400z"),
    ]
    assert kind_bands([replace(segments[0], tokens=None)], 800, 1_000) == ()


@given(st.floats(-10, 1e9), st.floats(0, 1e9))
def test_nothing_leaves_the_picture(value: float, most: float) -> None:
    assert 0 <= scaled(value, most) <= 1_000


def test_a_strip_of_many_segments_stays_small() -> None:
    kinds = (Kind.TOOL_USE, Kind.TOOL_RESULT)
    segments = [SegmentResult(kinds[n % 2], f"messages[{n}]", 10, str(n), False) for n in range(5_000)]
    assert sum(len(band.path) for band in kind_bands(segments, None, 50_000)) < 3_000


@given(st.lists(st.tuples(st.sampled_from(list(Kind)), st.integers(0, 500)), min_size=1, max_size=60))
def test_kinds_fill_the_prompt_once(parts: list[tuple[Kind, int]]) -> None:
    segments = [SegmentResult(kind, "", tokens, "", False) for kind, tokens in parts]
    total = sum(tokens for _, tokens in parts)
    bands = kind_bands(segments, None, total * 2)
    widths = [int(width) for band in bands for width in re.findall(r"h(\d+)v", band.path)]
    assert sum(widths) == (500 if total else 0)


def test_calls_that_grow_out_of_each_other_share_one_drawing() -> None:
    def grown(index: int, tokens: int, kind: Kind = Kind.TEXT) -> CallResult:
        segments = tuple(SegmentResult(kind, f"messages[{n}]", 100, f"x{n}", False) for n in range(tokens // 100))
        return call(index, tokens, 0, 0, segments=segments)

    calls = [grown(0, 100), grown(1, 200), grown(2, 400), grown(3, 400, Kind.IMAGE)]
    drawings, shown = shared_bands(calls, 400, Prompts({one.id: one for one in calls}), 7)
    assert [drawing.number for drawing in drawings] == [7, 8]
    assert [(shown[one.id].drawing, shown[one.id].width) for one in calls] == [
        (7, 250),
        (7, 500),
        (7, 1_000),
        (8, 1_000),
    ]
    assert drawings[0].bands[0].path == "M0 10h1000v6h-1000z"


def test_paths() -> None:
    assert rectangles([(0, 0), (3, 5)], 1, 2) == "M3 1h2v2h-2z"
    assert line([(0, 0), (5, 7)]) == "M0 0L5 7"
    assert line([]) == ""


def test_gap_to_scale_of_its_lifetime() -> None:
    assert [gap(90.0, ttl).path == "" for ttl in ("5m", "90s", "1d", "", None, "soon")] == [
        False, False, False, True, True, True,
    ]  # fmt: skip
    assert gap(150, "5m").path == "M0 0h25v4h-25z"
    assert (gap(301, "5m").expired, gap(300, "5m").expired) == (True, False)
    assert gap(10_000, "5m").path == "M0 0h100v4h-100z"
    assert gap(10_000, None).path == ""


def test_excerpt_marks_the_difference() -> None:
    found = excerpt("Now: 09:04. Go", "Now: 09:15. Go")
    assert found.before is not None
    assert found.after is not None
    assert (found.before.same, found.before.differs, found.before.tail) == ("Now: 09:", "04", ". Go")
    assert found.after.differs == "15"
    assert excerpt("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLF").remark == "The difference lies in a redacted part."
    assert excerpt(None, None).before is None


def test_a_long_excerpt_keeps_its_difference() -> None:
    found = excerpt("a" * 2_000 + "1" + "b" * 2_000, "a" * 2_000 + "2" + "b" * 2_000)
    assert found.after is not None
    assert found.after.differs == "2"


@given(st.text(max_size=40), st.text(max_size=40))
def test_excerpt_loses_nothing(before: str, after: str) -> None:
    found = excerpt(before, after, show_secrets=True)
    assert found.before is not None
    assert found.after is not None
    assert found.before.same == found.after.same
    assert found.before.tail == found.after.tail
    assert (found.before.text == found.after.text) == (not found.before.differs and not found.after.differs)


def test_heat_joins_calls_and_keeps_breaks() -> None:
    calls = [call(n, 900, 100, 0) for n in range(10)]
    found = heat(calls, {"c7"}, 5)
    assert [cell.calls for cell in found] == [2, 2, 2, 2, 2]
    assert [cell.broke for cell in found] == [False, False, False, True, False]
    assert found[0].read == 0.9
    assert heat([], set(), 5) == ()
    strip = heat_strip(found)
    assert (strip.width, strip.marks) == (50, "M30 0h10v4h-10z")


def test_prompts_follow_shared_segments() -> None:
    first = call(0, 0, 10)
    text = SegmentResult(Kind.TEXT, "messages[1]", 5, "x", False)
    second = call(1, 0, 10, shared_segments=2, segments=(text,))
    third = call(2, 0, 10, shared_segments=3, segments=(replace(text, digest="y"),))
    prompts = Prompts({one.id: one for one in (first, second, third)})
    assert [segment.digest for segment in prompts.segments(third)] == ["d0", "d1", "x", "y"]
    assert [segment.digest for segment in prompts.segments(second)] == ["d0", "d1", "x"]


def test_prompts_do_not_run_in_a_circle() -> None:
    one = call(0, 0, 10, predecessor="c1", shared_segments=1)
    two = call(1, 0, 10, predecessor="c0", shared_segments=1)
    assert len(Prompts({"c0": one, "c1": two}).segments(one)) > 0


def test_lanes_of_a_session() -> None:
    audit = shop()
    page = session_page(audit.sessions[0], [one for one in audit.calls if one.session == "s-aaaa"], context(audit))
    assert [(lane.name, lane.note, len(lane.rows)) for lane in page.lanes] == [
        ("main", "5 calls", 5), ("explore-1", "2 calls, started by main", 2),
    ]  # fmt: skip
    assert [(flag.cause, number) for flag, number in page.breaks] == [("ttl.expired", 1), ("system.volatile_time", 1)]
    assert page.ranks == (1, 2)
    assert page.money is not None
    assert (page.money.paid_end, page.money.mended_end) == ("$0.2543", "$0.1605")


def test_a_long_session_keeps_its_breaks_and_counts_the_rest() -> None:
    calls = [call(n, 900, 100, minute=n) for n in range(CALLS_A_PAGE + 200)]
    audit = audit_of(calls, [broken(calls[590], "system.volatile_id", 500)])
    page = session_page(audit.sessions[0], calls, context(audit))
    rows = page.lanes[0].rows
    assert page.left_out == 200
    assert sum(row.left_out or 1 for row in rows) == 600
    assert [row.number for row in rows if row.flag] == ["590"]


def test_break_page_shows_the_segment_that_differs() -> None:
    audit = shop()
    by_id = {one.id: one for one in audit.calls}
    page = break_page(2, audit, by_id, context(audit), 2)
    assert [(row.before, row.verdict) for row in page.segments] == [
        ("tools[0] (tool definition)", "same"),
        ("system[0] (system)", "differs"),
        ("messages[0].content[0] (text)", "differs"),
    ]
    assert (page.previous, page.following) == (1, None)
    assert page.mark == 155  # token 2,311 of 14,904
    assert (page.paid, page.mended) == ("$0.0565", "$0.0168")
    assert page.strips[1].lost == "M134 18h772v4h-772z"  # tokens 2,000 to 13,500 of 14,904


def test_sketches_are_of_causes_in_the_catalogue() -> None:
    assert set(fixes()) <= set(catalogue())
    audit = shop()
    by_id = {one.id: one for one in audit.calls}
    page = break_page(1, audit, by_id, context(audit), 2)
    assert page.sketch is not None
    assert 'ttl: "1h"' in page.sketch.after


def test_an_estimated_bill_is_said_everywhere() -> None:
    one = call(0, 0, 5_000, certainty={"cost": Certainty.ESTIMATED, "output_tokens": Certainty.ESTIMATED})
    audit = audit_of([one], [broken(one, "system.volatile_id", 5_000)])
    page = report(audit)
    assert page.overview.figures[0].value == "~$0.0263"
    assert page.sessions[0].row.cost.text == "~$0.0263"
    assert "~$0.0263 paid" in page.session_pages[0].summary
    assert page.session_pages[0].lanes[0].rows[0].cost == "~$0.0263"
    assert "~500 output" in page.session_pages[0].lanes[0].rows[0].details
    assert (page.break_pages[0].paid, page.break_pages[0].view.cost) == ("~$0.0263", "$0.0172")
    days = next(view for view in page.sums if view.name == "by_day")
    assert [cell.text for cell in days.rows[0]][6:9] == ["~500", "0 %", "~$0.0263"]


def test_a_replay_fills_the_fourth_column() -> None:
    measured = CallMeasurement(
        id="c2", session="s-aaaa", agent="main", prompt_tokens=15_000, output_tokens=500, ideal_cached_tokens=13_504,
        expected_cached_tokens=2_000, measured_cached_tokens=2_000, reported_cache_read_tokens=2_000,
        recomputed_tokens=11_504, reasons={}, cached_by_tier={}, reused_bytes=None, copied_blocks=0, tail_slots=0,
        provenance="text", certainty=Certainty.CALIBRATED, note="", ttft_ms=1_234.56, ttft_without_break_ms=98.7,
    )  # fmt: skip
    replay = Measurement(
        schema_version=1, engine="paged", model="tiny", model_note="", device="cpu", mode="serial", kv_dtype="fp32",
        block_size=16, concurrency=1, policy=None, scale=1.0, calls=(measured,), unreplayed=(),
    )  # fmt: skip
    column = overview(shop(), replay).columns[3]
    assert (column.tokens, column.share) == ("≈2,000", "≈13.3 %")
    assert column.meaning == (
        "reused by paged with tiny, in its own tokens; 1 of 10 calls replayed, all as the engine's rule says"
    )
    page = report(shop(), measurement=replay)
    words = (
        "engine: ≈2,000 of ≈15,000 reused, ≈2,000 by its rule, first token after 1,234.6 ms (98.7 ms without the break)"
    )
    assert page.break_pages[1].measured == words
    assert page.break_pages[0].measured == ""
    assert words in "".join(row.details for lane in page.session_pages[0].lanes for row in lane.rows)


def test_limits_are_said() -> None:
    calls = [call(n, 900, 100, session=f"s{n}", minute=n) for n in range(60)]
    breaks = [broken(one, "system.volatile_id", 500) for one in calls for _ in range(2)]
    page = report(audit_of(calls, breaks))
    assert len(page.session_pages) == 40
    assert len(page.break_pages) == 60
    assert page.notes == (
        "40 sessions have a page of their own: those that lost most; the other 20 are in the sums.",
        "The worst 60 of 120 breaks have a page; all are in the sums.",
    )


def test_progress_counts_every_page() -> None:
    steps: list[tuple[int, int]] = []
    report(shop(), progress=lambda done, pages: steps.append((done, pages)))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_certainty_of_a_session_is_that_of_its_breaks() -> None:
    rows = {link.row.name: link.row for link in report(shop()).sessions}
    assert rows["s-aaaa"].lost.text == "≈$0.0938"
    assert rows["s-bbbb"].lost.text == "$0"
    assert Certainty.CALIBRATED in {found.certainty for found in shop().breaks}
