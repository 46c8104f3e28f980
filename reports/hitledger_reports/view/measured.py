"""What a replay on a real engine measured, beside what the log says. Its tokens are the engine's own, not the log's."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from hitledger.results import Audit
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.shown import shown

if TYPE_CHECKING:
    from hitledger.measurement import CallMeasurement, Measurement


class MeasuredSum(Struct, frozen=True):
    """All replayed calls of an audit together."""

    tokens: int
    prompt_tokens: int
    certainty: Certainty
    meaning: str


def measured_calls(audit: Audit, measurement: "Measurement | None") -> "dict[str, CallMeasurement]":
    """The measurements of this audit's calls, by call."""
    if measurement is None:
        return {}
    known = {call.id for call in audit.calls}
    return {call.id: call for call in measurement.calls if call.id in known}


def measured_sum(audit: Audit, measurement: "Measurement | None") -> MeasuredSum | None:
    """None where no call of the audit was replayed."""
    calls = measured_calls(audit, measurement)
    if not calls or measurement is None:
        return None
    unequal = sum(call.measured_cached_tokens != call.expected_cached_tokens for call in calls.values())
    verdict = "all as the engine's rule says" if not unequal else f"{unequal:,} not as the engine's rule says"
    from hitledger.measurement import PLAN_MODE  # most audits were not replayed

    pool = "the block pool alone of " if measurement.mode == PLAN_MODE else ""
    return MeasuredSum(
        sum(call.measured_cached_tokens for call in calls.values()),
        sum(call.prompt_tokens for call in calls.values()),
        figures.weakest(call.certainty for call in calls.values()),
        f"reused by {pool}{shown(measurement.engine)} with {shown(measurement.model)}, in its own tokens; "
        f"{len(calls):,} of {figures.plural(len(audit.calls), 'call')} replayed, {verdict}",
    )


def measured_text(call_id: str, calls: "Mapping[str, CallMeasurement]") -> str:
    """One call's measurement in words; "" where it was not replayed."""
    call = calls.get(call_id)
    if call is None:
        return ""
    reused, whole, by_rule = (
        figures.count(tokens, call.certainty)
        for tokens in (call.measured_cached_tokens, call.prompt_tokens, call.expected_cached_tokens)
    )
    text = f"engine: {reused} of {whole} reused, {by_rule} by its rule"
    return text + (f", {_ttft(call)}" if call.ttft_ms is not None else "")


def _ttft(call: "CallMeasurement") -> str:
    without = call.ttft_without_break_ms
    mended = f" ({without:,.1f} ms without the break)" if without is not None else ""
    return f"first token after {call.ttft_ms:,.1f} ms{mended}"
