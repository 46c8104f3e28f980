"""Compactions, which mending leaves alone: a summary is new text, nothing holds it."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal

from msgspec.structs import replace

from hitledger.billing import rates_of
from hitledger.chains import Link
from hitledger.prices import PriceBook, Rates
from hitledger.whatif.money import prices_of, total_of
from hitledger.whatif.simulate import SimulatedCall


@dataclass(frozen=True, slots=True)
class Compactions:
    """What summaries wrote anew, and what the shorter prompts behind them then saved."""

    calls: int
    rewritten: int  # tokens
    cost: Decimal | None  # of the rewriting, over reading as much
    saved_tokens: int  # not sent again by the calls that followed
    saved: Decimal | None  # at the read rate


def compactions_of(
    links: Sequence[Link], before: Sequence[SimulatedCall | None], compacted: AbstractSet[int], book: PriceBook
) -> Compactions:
    """Rewriting and gain apart: the summary was written once, the calls behind it are shorter by what it replaced."""
    shorter: dict[int, int] = {}
    rewritten = saved_tokens = 0
    costs: list[Decimal | None] = []
    gains: list[Decimal | None] = []
    for link in links:
        one, before_index = before[link.index], link.predecessor
        if one is None or before_index is None:
            continue
        earlier = before[before_index]
        shorter[link.index] = shorter.get(before_index, 0)
        rates = rates_of(book, link.call, one.input_tokens)
        read_rate = rates.cache_read if isinstance(rates, Rates) else None
        if link.index in compacted and earlier is not None:
            rewritten += one.written + one.uncached
            shorter[link.index] += max(0, earlier.input_tokens - one.input_tokens)
            alone = replace(link.call, usage=replace(one.usage(link.call), output_tokens=0), logged_cost=None)
            (paid,) = prices_of(book, [alone])
            costs.append(None if paid is None or read_rate is None else paid - one.input_tokens * read_rate)
        elif shorter[link.index]:
            saved_tokens += shorter[link.index]
            gains.append(None if read_rate is None else shorter[link.index] * read_rate)
    return Compactions(len(compacted), rewritten, total_of(costs), saved_tokens, total_of(gains))
