"""A measurement as lines for a terminal of 80 columns: the calls that broke most, and what all calls come to."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from hitledger.measurement import PLAN_MODE, SERVER_MODE, CallMeasurement, Measurement
from hitledger.onscreen import printable, short_name

WIDTH = 80
NUM_SHOWN = 10
"""More calls than this are shown only on request; the worst of them stand for the others."""
NAME_WIDTH = 15
REASON_WIDTH = 200


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    width: int
    value: Callable[[CallMeasurement], float | None]

    def cell(self, call: CallMeasurement) -> str:
        value = self.value(call)
        text = "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
        return f"{text:>{self.width}}"


PROMPT = _Column("prompt", 9, lambda call: call.prompt_tokens)
IDEAL = _Column("ideal", 8, lambda call: call.ideal_cached_tokens)
EXPECTED = _Column("expected", 8, lambda call: call.expected_cached_tokens)
MEASURED = _Column("measured", 8, lambda call: call.measured_cached_tokens)
REPORTED = _Column("reported", 8, lambda call: call.reported_cache_read_tokens)
AGAIN = _Column("again", 8, lambda call: call.recomputed_tokens)
TTFT = _Column("TTFT ms", 9, lambda call: call.ttft_ms)
PREDICTED = _Column("predicted", 9, lambda call: call.predicted_ttft_ms)
UNBROKEN = _Column("unbroken", 8, lambda call: call.ttft_without_break_ms)
PREDICTED_UNBROKEN = _Column("unbroken", 8, lambda call: call.predicted_ttft_without_break_ms)

SHORT = (PROMPT, EXPECTED, MEASURED, REPORTED, AGAIN, TTFT, UNBROKEN)
PLANNED = (PROMPT, EXPECTED, MEASURED, REPORTED, AGAIN, PREDICTED, PREDICTED_UNBROKEN)
FULL = (PROMPT, IDEAL, EXPECTED, MEASURED, REPORTED, AGAIN, TTFT, PREDICTED, UNBROKEN)


def measurement_lines(found: Measurement, every_call: bool = False) -> Iterator[str]:
    """What was run, its calls, what they come to. Times are milliseconds.

    `every_call` shows all calls in the order of the log with all columns, wider than 80; else the calls that broke most.
    """
    where = f"a server, by the rule of {found.engine}" if found.mode == SERVER_MODE else found.device
    yield from wrap(f"{printable(found.model)} on {where}, blocks of {_count(found.block_size, 'token')}", WIDTH)
    yield from wrap(printable(found.model_note), WIDTH)
    yield from _table(found.calls, FULL) if every_call else _short_table(found)
    yield from _unreplayed(found, every_call)
    for line in _sums(found):
        yield from wrap(line, WIDTH, subsequent_indent="  ")


def _short_table(found: Measurement) -> Iterator[str]:
    calls, columns = found.calls, PLANNED if found.mode == PLAN_MODE else SHORT
    if len(calls) <= NUM_SHOWN:
        yield from _table(calls, columns)
        return
    broken = [
        call for call in calls if call.recomputed_tokens or call.expected_cached_tokens != call.measured_cached_tokens
    ]
    worst = sorted(
        broken, key=lambda call: (call.expected_cached_tokens == call.measured_cached_tokens, -call.recomputed_tokens)
    )
    if worst:
        yield from _table(worst[:NUM_SHOWN], columns)
        yield f"the worst {min(NUM_SHOWN, len(worst))} of {_count(len(worst), 'broken call')}; --all shows every call"


def _table(calls: Sequence[CallMeasurement], columns: Sequence[_Column]) -> Iterator[str]:
    yield " ".join((f"{'call':{NAME_WIDTH}}", *(f"{column.head:>{column.width}}" for column in columns)))
    for call in calls:
        name = short_name(call.id, NAME_WIDTH)
        yield " ".join((name, *(column.cell(call) for column in columns)))


def _unreplayed(found: Measurement, every_call: bool) -> Iterator[str]:
    if every_call:
        for left in found.unreplayed:
            yield f"{short_name(left.id, NAME_WIDTH)} not replayed: {printable(left.reason)}"
        return
    reasons = Counter(printable(left.reason)[:REASON_WIDTH] for left in found.unreplayed)
    for reason, number in reasons.most_common():
        yield from wrap(f"{_count(number, 'call')} not replayed: {reason}", WIDTH, subsequent_indent="  ")


def _sums(found: Measurement) -> Iterator[str]:
    calls = found.calls
    prompt, measured = sum(c.prompt_tokens for c in calls), sum(c.measured_cached_tokens for c in calls)
    equal = sum(c.expected_cached_tokens == c.measured_cached_tokens for c in calls)
    share = f" ({measured / prompt:.1%})" if prompt else ""
    yield f"{measured:,} of {_count(prompt, 'prompt token')} reused{share}"
    yield f"expected = measured on {equal:,} of {_count(len(calls), 'call')}"
    yield from _lost(calls)
    if found.ttft_model is not None:
        fit = found.ttft_model
        yield (
            f"TTFT of n tokens, p cached: {fit.constant_ms:.3g} + {fit.per_token_ms:.3g} (n-p) + "
            f"{fit.per_pair_ms:.3g} (n^2-p^2) ms + load; fitted to {fit.samples} prompts on this device, "
            f"worst error {fit.worst_relative_error:.0%}"
        )
    if found.policy is None and found.mode != SERVER_MODE:
        yield (
            "Breaks of lifetime, model, account, key or marks cost an engine nothing; "
            "--policy shows what a provider loses."
        )
    if found.server is not None and found.server.hits is not None:
        yield f"The server's own counters: {found.server.hits:,} of {found.server.queries or 0:,} tokens found."


def _lost(calls: Sequence[CallMeasurement]) -> Iterator[str]:
    broken = [call for call in calls if call.recomputed_tokens]
    if not broken:
        yield "no break made the engine compute a token again"
        return
    again = _count(sum(call.recomputed_tokens for call in broken), "token")
    times = [
        call.ttft_ms - call.ttft_without_break_ms
        for call in broken
        if call.ttft_ms is not None and call.ttft_without_break_ms is not None
    ]
    lost = (
        f"{sum(times):,.0f} ms more until the first token"
        if sum(times) > 0
        else "no more time than this machine's noise"
    )
    yield f"{_count(len(broken), 'broken call')} computed {again} again" + (f": {lost}" if times else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
