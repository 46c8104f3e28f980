"""What each call would read, write and cost by its provider's rules, whatever its log says."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from msgspec.structs import replace

from hitledger.billing import cost_of, rates_of
from hitledger.expect import Expectation, Forecaster
from hitledger.policies.rules import Rules
from hitledger.positions import Counter, Positions
from hitledger.prices import PriceBook, Rates, UnknownPrice
from hitledger.types import CacheWrite, Call, Usage


@dataclass(frozen=True, slots=True)
class Outcome:
    """One simulated call. `source` is the index of the call whose entry is read; `cost` None: no price is known."""

    usage: Usage
    source: int | None
    rule: str
    cost: Decimal | None
    error: str = ""

    @property
    def read(self) -> int:
        """Tokens read."""
        return self.usage.cache_read_tokens or 0


class Simulator:
    """Runs sequences of calls through fresh caches under the same rules, prices and token counts."""

    def __init__(self, rules: Rules, counter: Counter, book: PriceBook) -> None:
        self._rules = rules
        self._counter = counter
        self._book = book

    def run(self, calls: Sequence[Call]) -> list[Outcome | None]:
        """An outcome for each call, in the order given; None where no rule is known.

        The logged usage is taken off first, so that both sides of a comparison stand on the same ground.
        """
        bare = [replace(call, usage=None, logged_cost=None) for call in calls]
        expectations = Forecaster(self._rules, Positions(self._counter)).all(bare)
        return [
            self._outcome(call, stripped, expectation)
            for call, stripped, expectation in zip(calls, bare, expectations, strict=True)
        ]

    def _outcome(self, call: Call, bare: Call, expectation: Expectation | None) -> Outcome | None:
        if expectation is None:
            return None
        forecast = expectation.forecast
        total = expectation.view.tokens_at(expectation.view.length)
        read = min(forecast.read, total)
        writes = tuple(CacheWrite(ttl, tokens) for ttl, tokens in forecast.writes)
        output = call.usage.output_tokens if call.usage is not None else None
        usage = Usage(max(0, total - read - sum(write.tokens for write in writes)), read, writes, output)
        source, rule = forecast.source if read else None, expectation.rule.id
        rates = rates_of(self._book, bare, usage.input_tokens)
        if not isinstance(rates, Rates):
            return Outcome(usage, source, rule, None, str(rates))
        try:
            cost = cost_of(bare, rates, usage)
        except UnknownPrice as error:
            return Outcome(usage, source, rule, None, str(error))
        return Outcome(usage, source, rule, cost.total if cost is not None else None)
