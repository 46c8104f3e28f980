"""A measurement as lines for a terminal."""

from collections.abc import Iterator

from hitledger.measurement import CallMeasurement, Measurement

HEAD = ("call", "prompt", "ideal", "expected", "measured", "reported", "again", "TTFT", "predicted", "unbroken")
WIDTHS = (24, 8, 8, 8, 8, 8, 8, 10, 10, 10)


def measurement_lines(found: Measurement) -> Iterator[str]:
    """One line a call, then what they come to. Times are milliseconds; `again` is what a break made it compute again."""
    yield f"{found.engine}, {found.model} ({found.model_note}), {found.device}, blocks of {found.block_size}"
    yield _line(HEAD)
    for call in found.calls:
        yield _line(_cells(call))
    for left in found.unreplayed:
        yield f"{shown(left.id):24.24} not replayed: {shown(left.reason)}"
    yield from _sums(found)


def shown(text: str) -> str:
    """Text of a log without characters that move a terminal's cursor."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _cells(call: CallMeasurement) -> tuple[str, ...]:
    counts = (
        call.prompt_tokens,
        call.ideal_cached_tokens,
        call.expected_cached_tokens,
        call.measured_cached_tokens,
        call.reported_cache_read_tokens,
        call.recomputed_tokens,
    )
    times = (call.ttft_ms, call.predicted_ttft_ms, call.ttft_without_break_ms)
    return (
        shown(call.id),
        *("-" if count is None else f"{count:,}" for count in counts),
        *("-" if time is None else f"{time:,.1f}" for time in times),
    )


def _line(cells: tuple[str, ...]) -> str:
    first, *others = (f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
    return " ".join((f"{first.strip():{WIDTHS[0]}.{WIDTHS[0]}}", *others)).rstrip()


def _sums(found: Measurement) -> Iterator[str]:
    calls = found.calls
    prompt, measured = sum(c.prompt_tokens for c in calls), sum(c.measured_cached_tokens for c in calls)
    equal = sum(c.expected_cached_tokens == c.measured_cached_tokens for c in calls)
    share = f"{measured / prompt:.1%}" if prompt else "-"
    yield f"{measured:,} of {prompt:,} prompt tokens reused ({share}, in tokens); expected = measured on {equal} of {len(calls)} calls"
    pairs = [(c.ttft_ms, c.ttft_without_break_ms) for c in calls]
    lost = sum(with_break - without for with_break, without in pairs if with_break is not None and without is not None)
    broken = sum(c.recomputed_tokens > 0 for c in calls)
    if broken:
        again = sum(c.recomputed_tokens for c in calls)
        time = f", {lost:,.0f} ms until the first token" if any(without is not None for _, without in pairs) else ""
        yield f"{broken} calls computed {again:,} tokens again{time}"
    if found.ttft_model is not None:
        fit = found.ttft_model
        yield (
            f"TTFT = {fit.constant_ms:.3g} + {fit.per_token_ms:.3g} (n-p) + {fit.per_pair_ms:.3g} (n^2-p^2) ms + load, "
            f"from {fit.samples} prompts on this device, worst error {fit.worst_relative_error:.0%}"
        )
    if found.policy is None and found.mode != "server":
        yield "Breaks of lifetime, model, account, key or marks cost an engine nothing; --policy shows what a provider loses."
    if found.server is not None and found.server.hits is not None:
        yield f"The server's own counters: {found.server.hits:,} of {found.server.queries or 0:,} tokens found."
