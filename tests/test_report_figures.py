"""How numbers and texts are written out."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.shown import shown


def test_counts() -> None:
    assert figures.count(1_234_567) == "1,234,567"
    assert figures.count(0) == "0"
    assert figures.count(None) == "—"
    assert figures.count(1_500, Certainty.CALIBRATED) == "≈1,500"
    assert figures.count(-3, Certainty.ESTIMATED) == "~−3"


@pytest.mark.parametrize(
    ("value", "text"),
    [(987, "987"), (1_000, "1.00 k"), (9_994, "9.99 k"), (9_996, "10.0 k"), (99_960, "100 k"), (1_234_567, "1.23 M"),
     (45_600_000_000, "45.6 G"), (None, "—"), (-1_500, "−1.50 k")],
)  # fmt: skip
def test_short_counts(value: int | None, text: str) -> None:
    assert figures.short(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("0", "$0"), ("0.00001", "<$0.0001"), ("0.03125", "$0.0312"), ("0.9", "$0.9000"), ("1", "$1.00"),
     ("1234.5", "$1,234.50"), ("-2.5", "−$2.50"), ("-0.00001", "−<$0.0001")],
)  # fmt: skip
def test_money(value: str, text: str) -> None:
    assert figures.usd(Decimal(value)) == text
    assert figures.usd(Decimal(value), Certainty.ESTIMATED) == "~" + text


def test_unknown_money_is_not_zero() -> None:
    assert figures.usd(None) == "—"


@given(st.floats(0, 1))
def test_rounding_gives_nothing_and_everything_only_for_them(value: float) -> None:
    text = figures.share(value)
    assert (text == "0 %") == (value == 0)
    assert (text == "100 %") == (value == 1)
    assert text not in ("0.0 %", "100.0 %")


def test_shares() -> None:
    assert [figures.share(value) for value in (0.1234, 0.0002, 0.9999, None, 1.5, -0.5)] == [
        "12.3 %", "<0.1 %", ">99.9 %", "—", "150.0 %", "−50.0 %",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (3.25, "3.2 s"), (59, "59 s"), (60, "1 min"), (370, "6 min 10 s"), (3_600, "1 h"), (3_720, "1 h 2 min"),
     (200_000, "2 d 7 h"), (-90, "−1 min 30 s"), (None, "—"), (59.7, "1 min")],
)  # fmt: skip
def test_durations(seconds: float | None, text: str) -> None:
    assert figures.duration(seconds) == text


def test_times_are_utc() -> None:
    noon_in_tokyo = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=9)))
    assert figures.utc(noon_in_tokyo) == "2026-01-01 18:04:05"
    assert figures.day(noon_in_tokyo) == "2026-01-01"
    assert figures.day(None) == "undated"
    assert figures.utc(datetime(2026, 1, 1, tzinfo=UTC), seconds=False) == "2026-01-01 00:00"


def test_a_sum_is_as_certain_as_its_weakest_part() -> None:
    assert figures.weakest([]) is Certainty.EXACT
    assert figures.weakest([Certainty.EXACT, Certainty.CALIBRATED]) is Certainty.CALIBRATED
    assert figures.weakest([Certainty.ESTIMATED, Certainty.CALIBRATED]) is Certainty.ESTIMATED


def test_plural() -> None:
    assert figures.plural(1, "call") == "1 call"
    assert figures.plural(1_000, "call") == "1,000 calls"
    assert figures.plural(2, "loss", "losses") == "2 losses"


def test_text_is_bounded_redacted_and_on_one_line() -> None:
    assert shown("a\nb\x1b") == "a⏎b␛"
    assert shown("x" * 100, 10) == "xxxxxx…xxx"
    assert shown("AKIAIOSFODNN7EXAMPLE") == "[redacted AWS key]"
    assert shown("AKIAIOSFODNN7EXAMPLE", show_secrets=True) == "AKIAIOSFODNN7EXAMPLE"


def test_a_secret_in_a_huge_text_does_not_survive_the_cut() -> None:
    text = "x " * 500_000 + "ghp_" + "a1B2" * 9 + " end"
    assert "ghp_" not in shown(text, 60)
    assert len(shown(text, 60)) == 60


@given(st.text(max_size=300), st.integers(4, 80))
def test_length_holds(text: str, limit: int) -> None:
    assert len(shown(text, limit)) <= limit
