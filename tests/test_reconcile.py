"""Reconciliation: the columns joined by call, a difference that fails, breaks that only the provider has."""

from dataclasses import replace

import pytest

from hitledger.measurement import MEASUREMENT_VERSION, CallMeasurement, Measurement
from hitledger.reconcile import UnreconciledError, reconcile, reconciliation_lines
from hitledger.types import Certainty
from report_audits import audit_of, broken
from report_audits import call as audited


def row(call_id: str, ideal: int, measured: int, **changes: object) -> CallMeasurement:
    found = CallMeasurement(
        call_id, "s-aaaa", "main", 2000, 1, ideal, measured, measured, None, ideal - measured, {}, {}, None, 0, 0, "text",
        Certainty.CALIBRATED, "", 50.0,
    )  # fmt: skip
    return replace(found, **changes)  # type: ignore[arg-type]


def measurement(*rows: CallMeasurement) -> Measurement:
    return Measurement(MEASUREMENT_VERSION, "hitledger", "tiny", "", "cpu", "tiny", "model", 16, 1, None, 1.0, rows, ())


def test_columns_are_joined_by_call() -> None:
    calls = [audited(0, 0, 1500), audited(1, 0, 1600), audited(2, 1500, 200)]
    audit = audit_of(calls, [broken(calls[1], "ttl.expired", 1500)])
    found = reconcile(
        measurement(
            row(calls[0].id, 0, 0), row(calls[1].id, 1488, 1488), row("other", 1600, 1200, ttft_without_break_ms=20.0)
        ),
        audit,
    )
    first, second, third = found.calls
    assert (second.cause, second.only_at_provider, second.lost_ms) == ("ttl.expired", True, None)
    assert (second.ideal, second.expected, second.measured, second.reported) == (1488, 1488, 1488, 0)
    assert (second.provider_ideal, second.provider_prompt) == (calls[1].ideal_cache_read_tokens, calls[1].input_tokens)
    assert (first.cause, first.only_at_provider) == (None, False)
    assert (third.recomputed, third.lost_ms, third.reported) == (400, 30.0, None)
    assert found.only_in_audit == (calls[2].id,)
    assert found.only_in_measurement == ("other",)
    found.require_equal()
    text = "\n".join(reconciliation_lines(found))
    assert "ttl.expired (at the provider only)" in text
    assert "expected = measured on 3 of 3 calls" in text
    assert f"{calls[2].id} in the audit only" in text
    assert "other in the measurement only" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\n  first token 30.0 ms later than without the break\n" in text


def test_a_difference_is_an_error_of_ours() -> None:
    found = reconcile(measurement(row("a", 0, 0), row("b", 64, 48, expected_cached_tokens=64)))
    assert [call.id for call in found.unequal] == ["b"]
    assert "EXPECTED AND MEASURED DIFFER" in "\n".join(reconciliation_lines(found))
    with pytest.raises(UnreconciledError, match=r"1 of 2 calls .*b: expected 64, measured 48") as error:
        found.require_equal()
    assert error.value.exit_code == 1


def test_without_an_audit_the_log_s_own_figure_stands() -> None:
    (found,) = reconcile(measurement(row("a\x1b[2J", 32, 32, reported_cache_read_tokens=40))).calls
    assert (found.reported, found.provider_expected, found.cause) == (40, None, None)
    lines = list(reconciliation_lines(reconcile(measurement(row("a\x1b[2J", 32, 32)))))
    assert not any("\x1b" in line for line in lines)


def test_files_of_different_logs_are_not_joined_by_chance() -> None:
    here = audited(0, 0, 1500)
    audit = audit_of([here], [])
    with pytest.raises(UnreconciledError, match="no call in common") as error:
        reconcile(measurement(row(here.id, 0, 0, session="of another log")), audit)
    assert error.value.exit_code == 1
