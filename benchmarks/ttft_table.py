"""Times to the first token of several engines, side by side, as tables."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hitledger_replay.sessions.ttft import TtftSample, fit

OURS, PLAIN = "hitledger float32", "transformers float32"


@dataclass(frozen=True)
class Row:
    """Seconds to the first token of a prompt of which `share` was sent before, and what the engine found of it."""

    who: str
    num_tokens: int
    share: float
    num_cached: int
    seconds: float


def fastest(rows: Iterable[Row]) -> list[Row]:
    """Of each engine, prompt and share."""
    best: dict[tuple[str, int, float], Row] = {}
    for row in rows:
        key = (row.who, row.num_tokens, row.share)
        best[key] = min(best.get(key, row), row, key=lambda r: r.seconds)
    return list(best.values())


def side_by_side(rows: list[Row]) -> Iterator[str]:
    """A line a prompt and share; each engine's seconds and, behind them, the tokens it found."""
    engines = list(dict.fromkeys(row.who for row in rows))
    found = {(row.who, row.num_tokens, row.share): row for row in rows}
    yield "| prompt | sent before | " + " | ".join(engines) + " |"
    yield "|---|---|" + "---|" * len(engines)
    for length, share in dict.fromkeys((row.num_tokens, row.share) for row in rows):
        cells = (_cell(found.get((who, length, share))) for who in engines)
        yield f"| {length} | {share:.0%} | " + " | ".join(cells) + " |"


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    return f"{row.seconds:.3f}" + (f" ({row.num_cached})" if row.num_cached else "")


def ratios(rows: list[Row]) -> Iterator[str]:
    """Ours as a share of each other engine's time for the same prompt and share; below 1 we are faster.

    transformers computes every prompt whole, so what was sent before does not matter to it.
    """
    others = [who for who in dict.fromkeys(row.who for row in rows) if who != OURS]
    found = {(row.who, row.num_tokens, row.share): row.seconds for row in rows}
    yield "| prompt | sent before | " + " | ".join(f"of {who}" for who in others) + " | 1 - h |"
    yield "|---|---|" + "---|" * (len(others) + 1)
    for row in rows:
        if row.who == OURS:
            theirs = [found.get((who, row.num_tokens, 0.0 if who == PLAIN else row.share)) for who in others]
            cells = ("-" if other is None or not other else f"{row.seconds / other:.3f}" for other in theirs)
            left = 1 - row.num_cached / row.num_tokens
            yield f"| {row.num_tokens} | {row.share:.0%} | " + " | ".join(cells) + f" | {left:.3f} |"


def fitted(rows: list[Row]) -> str:
    """The model of our times, and its worst error over them."""
    own = [TtftSample(row.num_tokens, row.num_cached, row.seconds) for row in rows if row.who == OURS]
    model = fit(own)
    return (
        f"fit: {model.constant:.4f} + {model.per_token:.3e} (n-p) + {model.per_pair:.3e} (n^2-p^2) s, "
        f"worst error {model.worst_relative_error(own):.0%}"
    )
