"""The four columns of the ledger side by side: ideal, expected, measured, reported, call by call.

On an engine expected and measured must be equal, token for token: a difference is a fault of ours, never of the user.
The audit's expectation follows the provider's rule and its own token counts, so it stands beside the engine's and is
not compared with what the engine measured.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hitledger.errors import HitledgerError
from hitledger.measurement import SERVER_MODE, CallMeasurement, Measurement
from hitledger.onscreen import printable, short_name
from hitledger.results import Audit, Break, CallResult

NAME_WIDTH, WIDEST_NAME = 16, 55
"""Of a call's id in the table, and where it stands in a line of its own."""


class UnreconciledError(HitledgerError):
    """Expected and measured differ: the engine or the rule we have for it is wrong."""


@dataclass(frozen=True, slots=True)
class ReconciledCall:
    """One call. The first four figures are in the engine's tokens, the `provider_*` ones in the log's."""

    id: str
    session: str
    prompt_tokens: int
    ideal: int
    expected: int
    measured: int
    provider_prompt: int | None
    provider_ideal: int | None
    provider_expected: int | None
    reported: int | None
    recomputed: int
    cause: str | None  # of the break the audit found in this call
    only_at_provider: bool  # the audit found a break, the engine lost nothing: lifetime, model, account, key, marks
    lost_ms: float | None  # time to first token with the break minus without it

    @property
    def equal(self) -> bool:
        """Whether the engine did what its rule says."""
        return self.expected == self.measured


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """All calls of the measurement, in its order."""

    calls: tuple[ReconciledCall, ...]
    only_in_audit: tuple[str, ...]  # ids that were not replayed
    only_in_measurement: tuple[str, ...]
    on_server: bool = False  # measured by somebody else's server, whose state and settings are not ours

    @property
    def unequal(self) -> tuple[ReconciledCall, ...]:
        """Calls whose measured reuse is not what the rule gives."""
        return tuple(call for call in self.calls if not call.equal)

    def require_equal(self) -> None:
        """Raise UnreconciledError naming the first differences."""
        if self.unequal:
            shown = ", ".join(f"{c.id}: expected {c.expected}, measured {c.measured}" for c in self.unequal[:5])
            doubt = (
                "start the server anew, so that it holds nothing, let nobody else use it, and name its engine and what it was "
                "started with (--server-engine, --block-size, --server-flags); else this is a fault in our rule of that engine"
                if self.on_server
                else "this is a fault in hitledger or in the rule of that engine"
            )
            raise UnreconciledError(
                f"{len(self.unequal)} of {len(self.calls)} calls were not reused as the engine's rule says ({shown}); {doubt}"
            )


def reconcile(measurement: Measurement, audit: Audit | None = None) -> Reconciliation:
    """Join by session and call id. Without an audit the provider's columns are those the replay took from the log.

    Raises UnreconciledError if the two have no call in common.
    """
    audited = {(call.session, call.id): call for call in audit.calls} if audit else {}
    breaks = {item.call: item for item in audit.breaks} if audit else {}
    measured = {(call.session, call.id): call for call in measurement.calls}
    if audit and measured and not audited.keys() & measured.keys():
        raise UnreconciledError(
            "the audit and the measurement have no call in common; were both made of the same logs?"
        )
    return Reconciliation(
        tuple(_joined(call, audited.get(key), breaks.get(call.id)) for key, call in measured.items()),
        tuple(call.id for key, call in audited.items() if key not in measured),
        tuple(call.id for key, call in measured.items() if audit and key not in audited),
        on_server=measurement.mode == SERVER_MODE,
    )


def _joined(call: CallMeasurement, audited: CallResult | None, in_call: Break | None) -> ReconciledCall:
    without = call.ttft_without_break_ms
    found = in_call if audited else None
    return ReconciledCall(
        id=call.id,
        session=call.session,
        prompt_tokens=call.prompt_tokens,
        ideal=call.ideal_cached_tokens,
        expected=call.expected_cached_tokens,
        measured=call.measured_cached_tokens,
        provider_prompt=audited.input_tokens if audited else None,
        provider_ideal=audited.ideal_cache_read_tokens if audited else None,
        provider_expected=audited.expected_cache_read_tokens if audited else None,
        reported=audited.cache_read_tokens if audited else call.reported_cache_read_tokens,
        recomputed=call.recomputed_tokens,
        cause=found.cause if found else None,
        only_at_provider=found is not None and call.recomputed_tokens == 0,
        lost_ms=call.ttft_ms - without if call.ttft_ms is not None and without is not None else None,
    )


def reconciliation_lines(found: Reconciliation) -> Iterator[str]:
    """One line a call for a terminal of 80 columns, and a second one where the audit or the times say something."""
    yield f"{'':{NAME_WIDTH}} {'in tokens of the engine':>26} {'of the provider':>26}"
    heads = ("ideal", "expected", "measured", "ideal", "expected", "reported", "again")
    yield f"{'call':{NAME_WIDTH}} " + " ".join(f"{head:>8}" for head in heads)
    for call in found.calls:
        counts = (call.ideal, call.expected, call.measured, call.provider_ideal, call.provider_expected, call.reported)
        cells = " ".join(f"{_count(count):>8}" for count in (*counts, call.recomputed))
        yield f"{short_name(call.id, NAME_WIDTH)} {cells}"
        remarks = "; ".join(_remarks(call))
        if remarks:
            yield f"  {remarks}"
    for call_id in found.only_in_audit:
        yield f"{printable(call_id)[:WIDEST_NAME]} in the audit only"
    for call_id in found.only_in_measurement:
        yield f"{printable(call_id)[:WIDEST_NAME]} in the measurement only"
    equal = len(found.calls) - len(found.unequal)
    yield f"expected = measured on {equal} of {len(found.calls)} calls"


def _remarks(call: ReconciledCall) -> Iterator[str]:
    if not call.equal:
        yield "EXPECTED AND MEASURED DIFFER"
    if call.cause is not None:
        yield call.cause + (" (at the provider only)" if call.only_at_provider else "")
    if call.lost_ms is not None:
        yield f"first token {abs(call.lost_ms):,.1f} ms {'later' if call.lost_ms >= 0 else 'earlier'} than without the break"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
