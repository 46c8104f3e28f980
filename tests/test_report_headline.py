"""What a report says first, where its figures are unknown, and what it says of its own gaps."""

from decimal import Decimal

from msgspec.structs import replace

from hitledger.causes.catalogue import catalogue
from hitledger.results import Attribution, Audit, CallResult, SegmentResult
from hitledger.types import Certainty, Kind
from hitledger_reports.combine import between, instant
from hitledger_reports.view.break_pages import break_page
from hitledger_reports.view.breaks import break_view, place
from hitledger_reports.view.group_tables import group_table
from hitledger_reports.view.groups import By
from hitledger_reports.view.overview import overview
from hitledger_reports.view.report import report
from hitledger_reports.view.segment_table import segments
from hitledger_reports.view.session_pages import context
from hitledger_reports.view.table import cells
from report_audits import audit_of, broken, call, shop


def unread(index: int, **changes: object) -> CallResult:
    """A call of a log that says nothing of reads, as traces of block hashes do."""
    return call(
        index, 0, 5_000, cache_read_tokens=None, cache_write_tokens=None, ideal_cache_read_tokens=None,
        expected_cache_read_tokens=None, attribution=None, cost=None, cost_without_cache=None, cost_source=None, **changes,
    )  # fmt: skip


def test_what_no_call_reports_is_a_dash_and_no_zero() -> None:
    audit = audit_of([unread(0), unread(1)])
    head = overview(audit)
    assert [figure.value for figure in head.figures] == ["—", "—", "—", "—", "—"]
    assert [column.tokens for column in head.columns] == ["—", "—", "—", "—"]
    assert head.calm is not None
    assert head.calm.title == "Nothing could be judged"
    assert audit.totals.hit_rate is audit.sessions[0].hit_rate is None
    row = report(audit).sessions[0].row
    assert (row.hit_rate.text, row.lost.text, row.breaks) == ("—", "—", "not judged")
    days = [cell.text for cell in cells(group_table(audit, By.DAY))[0]]
    assert days[1:] == ["2", "10,008", "—", "—", "8", "1,000", "—", "—", "—", "—", "—", "—"]


def test_a_day_without_usage_has_no_zero_tokens() -> None:
    nothing = unread(0, input_tokens=None, uncached_input_tokens=None, output_tokens=None, started_at=None)
    audit = audit_of([nothing])
    undated = [cell.text for cell in cells(group_table(audit, By.DAY))[0]]
    assert undated == ["undated", "1", *["—"] * 11]
    page = report(audit).session_pages[0]
    assert (page.summary, page.period) == (
        "1 call, no call reports reads, — paid, 0 breaks",
        "no times in the log",
    )


def test_a_hit_rate_is_that_of_the_calls_that_report_reads() -> None:
    audit = audit_of([call(0, 3_000, 996), unread(1)])  # 3,000 of 4,000; the other 5,004 are unknown
    assert audit.totals.hit_rate == audit.sessions[0].hit_rate == 0.75
    assert {figure.label: figure.value for figure in overview(audit).figures}["Hit rate"] == "75.0 %"
    reported = overview(audit).columns[2]
    assert (reported.share, reported.meaning.endswith("(1 call without this figure left out)")) == ("75.0 %", True)


def test_what_is_saved_is_of_the_calls_that_say_what_they_read() -> None:
    def saved(*calls: CallResult) -> tuple[str, str]:
        found = next(figure for figure in overview(audit_of(calls)).figures if figure.label == "Saved by the cache")
        return found.value, found.note

    logged = call(0, 300_000, 0, cost=Decimal("0.0975"), cost_without_cache=Decimal("0.9075"))
    assert saved(logged) == ("$0.8100", "without a cache: $0.9075")
    expected = replace(unread(1), cost=Decimal("0.5"), cost_source="expected x price")  # it has no cost without a cache
    assert saved(logged, expected) == ("$0.8100", "without a cache: $0.9075 (1 call without this figure left out)")
    priced = replace(expected, cost_without_cache=Decimal("0.4"), cost_source="logged")  # what it read is not known
    assert saved(priced) == ("—", "without a cache: —")


def test_what_is_left_of_the_bill_is_unknown_where_the_loss_is() -> None:
    unruled = audit_of([call(0, 0, 3_000, ideal_cache_read_tokens=None, expected_cache_read_tokens=None)])
    one = call(1, 0, 5_000)
    unpriced = audit_of([call(0, 0, 5_000), one], [replace(broken(one, "model.changed", 5_000), cost=None)])
    for audit in (unruled, unpriced):
        paid, lost, mended = (figure.value for figure in overview(audit).figures[:3])
        assert (paid != "—", lost, mended) == (True, "—", "—")


def test_calm_says_no_more_than_is_known() -> None:
    def words(audit: Audit) -> tuple[str, str]:
        found = overview(audit).calm
        assert found is not None
        return found.title, found.text

    unruled = audit_of([call(0, 0, 3_000, ideal_cache_read_tokens=None, expected_cache_read_tokens=None)])
    assert words(unruled) == ("Nothing could be judged", "No cache rule is known for the provider of these calls.")
    quiet = audit_of([call(0, 0, 3_000), call(1, 3_000, 996)])
    assert overview(shop()).calm is None
    assert words(quiet) == ("No break found", "Every prefix that could be read was read.")
    assert words(audit_of([*quiet.calls, unread(2)]))[1].endswith("in the 2 calls that could be judged.")
    small = replace(quiet, totals=replace(quiet.totals, small_breaks=2, small_lost_tokens=80))
    unlisted = "below the limit, or missed where the provider promises no read"
    assert words(small) == ("No break to list", f"Only losses {unlisted}.")
    assert overview(small).small == f"2 losses not listed (80 tokens together): {unlisted}."
    guessed = [replace(unread(n), ideal_cache_read_tokens=3_000) for n in range(2)]  # expected, not reported
    silent = "2 calls could be judged by prompt and time alone: the log does not say what was read."
    assert words(audit_of([*guessed, unread(2)])) == ("No break seen", silent)
    assert words(audit_of([*quiet.calls, *guessed]))[1].endswith("in the 2 calls that could be judged.")
    assert words(audit_of([]))[0] == "No call"
    assert words(audit_of([call(0, 0, 5_000)]))[0] == "Nothing to compare"


def test_a_break_without_a_time_is_written_out_without_gaps() -> None:
    dated = break_view(1, broken(call(1, 0, 5_000), "model.changed", 100), call(1, 0, 5_000))
    assert dated.when("the last") == "2026-03-02 09:00:00 UTC, 1 min after the last"
    assert dated.when() == "2026-03-02 09:00:00 UTC"
    first = call(0, 0, 5_000)
    assert break_view(1, broken(first, "model.changed", 100), first).when("the last") == "2026-03-02 09:00:00 UTC"
    undated = call(1, 0, 5_000, started_at=None, gap_seconds=None)
    assert break_view(1, broken(undated, "model.changed", 100), undated).when("the last") == "at an unknown time"


def test_what_broke_it_names_the_dearest_and_change_first_what_can_be_mended() -> None:
    calls = [call(n, 0, 9_000) for n in range(6)]
    names = ("server.thinking_stripped", "unexplained", "ttl.expired", "ttl.expired", "model.changed")
    breaks = [broken(one, name, 9_000 - n) for n, (one, name) in enumerate(zip(calls, names, strict=False))]
    breaks[0] = replace(breaks[0], rebilled_tokens=100_000, cost=Decimal(2))
    head = overview(audit_of(calls, breaks))
    assert [(one.cause, one.cost, one.note) for one in head.broken_by] == [
        ("server.thinking_stripped", "$2.00", "1 break, the provider's doing"),
        ("ttl.expired", "$0.0621", "2 breaks"),  # 8,998 and 8,997 tokens at 3.45 USD per million
        ("unexplained", "$0.0310", "1 break, no known reason"),
        ("", "", "1 other cause"),
    ]
    assert head.first is not None
    assert (head.first.cause, head.first.what) == ("ttl.expired", catalogue()["ttl.expired"].what)


def test_parts_add_up_to_ideal_minus_reported() -> None:
    warmed = call(1, 9_000, 10, ideal_cache_read_tokens=2_000, attribution=Attribution())
    expired = call(2, 0, 9_000, ideal_cache_read_tokens=8_000, attribution=Attribution(expired=8_000))
    parts = overview(audit_of([warmed, expired])).parts
    assert [(part.name, part.tokens) for part in parts] == [
        ("Expired", "8,000 tokens"), ("Read beyond ideal", "−7,000 tokens"),
    ]  # fmt: skip
    assert sum(part.value for part in parts) == (2_000 + 8_000) - 9_000


def test_many_models_without_a_price_are_one_line() -> None:
    fixed = shop().prices[0]
    reasons = ("the provider is not known", "the time of the call is not known")
    errors = [f"no price for m{n} (x): {reasons[n > 3]}" for n in range(5)]
    prices = tuple(replace(fixed, model=f"m{n}", error=error) for n, error in enumerate(errors))
    few = overview(replace(shop(), prices=prices[:3])).warnings
    assert [line for line in few if "no price" in line] == errors[:3]
    assert (
        "5 models, each named under “Prices used”, have no price: the provider is not known (4), the time of the call "
        "is not known (1)."
    ) in overview(replace(shop(), prices=prices)).warnings


def test_what_prices_take_for_granted_is_said_once_with_the_models() -> None:
    fixed, note = shop().prices[0], "no read price is listed: reads cost what input costs"
    prices = tuple(replace(fixed, model=f"m{n}", notes=(note,)) for n in range(5))
    found = overview(replace(shop(), prices=(fixed, *prices))).warnings
    assert f"Costs of m0, m1, m2 and 2 other models are estimates: {note}." in found
    assert not any("are estimates" in line for line in overview(shop()).warnings)


def test_a_cut_audit_says_so() -> None:
    cut = between(shop(), instant("2026-03-03", "--since"), None)
    assert overview(cut).warnings[0].startswith("This report covers 3 of the 10 calls that were read")
    assert not any("This report covers" in line for line in overview(shop()).warnings)


def test_places_in_words() -> None:
    assert place("(none)") == "nothing changed in the prompt as logged"
    assert place("[935].message.content[0]") == "row 936, message.content[0]"
    assert place("[0]") == "row 1"
    assert place("tools[4].description") == "tools[4].description"
    assert place(f"[3].x {'sk-ant-' + 'a1B2' * 8}") == "row 4, x [redacted API key]"


def test_a_break_page_says_why_less_was_read_than_the_prompts_share() -> None:
    audit = shop()
    by_id = {one.id: one for one in audit.calls}
    assert break_page(2, audit, by_id, context(audit), 2).fell_back == ""  # token 2,311, read 2,000
    far = replace(audit, breaks=tuple(replace(found, token_offset=9_000) for found in audit.breaks))
    words = break_page(2, far, by_id, context(far), 2).fell_back
    assert words.startswith("Both prompts are the same up to token 9,000, yet only 2,000 were read")


def test_segments_are_a_table_of_their_own() -> None:
    text = SegmentResult(Kind.TEXT, "messages[1]", 5, "x", True, "1h")
    grown = call(1, 0, 10, shared_segments=3, segments=(text,), certainty={"segments": Certainty.CALIBRATED})
    rows = segments(audit_of([call(0, 0, 6_000), grown])).rows
    assert len(rows) == 4
    assert rows[0] == ("c0", 0, "tool", "tools[0]", 2_000, "exact", "d0", "no", None)
    assert rows[3] == ("c1", 3, "text", "messages[1]", 5, "calibrated", "x", "yes", "1h")


def test_legends_name_what_is_drawn() -> None:
    page = report(shop())
    assert page.session_pages[0].kinds == (("k-tool", "tool definition"), ("k-system", "system"), ("k-text", "text"))
    assert page.break_pages[1].kinds == page.session_pages[0].kinds
