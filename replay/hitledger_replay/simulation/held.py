"""What a trace's prompts would take of a memory: one contiguous region a request, as before paging, and blocks."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hitledger_replay.reservation import Reservation, ReservePolicy, paged, reserve
from hitledger_replay.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class Held:
    """Tokens held right after each prompt, all requests at once, under one `layout`."""

    trace: str
    block_size: int
    layout: str
    tokens: Reservation

    def to_json(self) -> dict[str, Any]:
        """The row with its utilisation."""
        names = {"trace": self.trace, "block_size": self.block_size, "layout": self.layout}
        return {**names, **asdict(self.tokens), "utilisation": self.tokens.utilisation}


def held_by(trace: Trace) -> Iterator[Held]:
    """The three contiguous layouts, the longest request being the model's maximum, and the paged one."""
    final = (trace.input_tokens + trace.output_tokens).tolist()
    prompts = trace.input_tokens.tolist()
    longest = max(final)
    for policy in ReservePolicy:
        held = reserve(zip(prompts, final, strict=True), policy, longest)
        yield Held(trace.name, trace.block_size, f"contiguous-{policy}", held)
    yield Held(trace.name, trace.block_size, "paged", paged(prompts, trace.block_size))


def sums_of(rows: Iterable[Held], name: str) -> Iterator[Held]:
    """One row for each layout and block size, over all traces."""
    sums: dict[tuple[int, str], Reservation] = {}
    for row in rows:
        key = row.block_size, row.layout
        sums[key] = sums[key] + row.tokens if key in sums else row.tokens
    for (block_size, layout), tokens in sums.items():
        yield Held(name, block_size, layout, tokens)
