"""Points in time in the spellings of logs."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger.logs.instants import after, instant

NOON = datetime(2026, 5, 4, 12, 0, 0, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-05-04T12:00:00.500Z",
        "2026-05-04T14:00:00.500+02:00",
        "2026-05-04 12:00:00.500",
        1777896000.5,
        1777896000500,
        1777896000500000,
        "1777896000500000000",
        NOON,
        NOON.astimezone(timezone(timedelta(hours=-5))),
    ],
)
def test_one_moment_in_many_spellings(value: Any) -> None:
    found = instant(value)
    assert found == NOON
    assert found is not None
    assert found.tzinfo is UTC


def test_an_http_date_has_seconds() -> None:
    assert instant("Mon, 04 May 2026 12:00:00 GMT") == datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "0001-01-01T00:00:00Z",  # what Go writes for a time that was never set
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59-23:59",
        "99999-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_years_that_no_call_has(value: Any) -> None:
    assert instant(value) is None


@pytest.mark.parametrize("value", [None, True, "", "soon", "12", 12, -1.0, 1e30, float("inf"), [], {}, "9" * 400])
def test_what_is_no_time(value: Any) -> None:
    assert instant(value) is None


@given(st.one_of(st.text(), st.floats(), st.integers(), st.booleans()))
def test_nothing_raises(value: Any) -> None:
    found = instant(value)
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize(("milliseconds", "expected"), [(1500, NOON + timedelta(seconds=1.5)), (0, NOON)])
def test_after(milliseconds: float, expected: datetime) -> None:
    assert after(NOON, milliseconds) == expected


@pytest.mark.parametrize("milliseconds", [None, -1, True, "5", float("nan"), 1e12])
def test_after_an_unknown_time(milliseconds: Any) -> None:
    assert after(NOON, milliseconds) is None
    assert after(None, 5) is None
