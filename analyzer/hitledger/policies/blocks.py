"""Caches of full blocks: vLLM, TensorRT-LLM with partial reuse, and the automatic caches of most providers."""

from datetime import datetime

from hitledger.policies.cache import Blocked, Forecast
from hitledger.policies.prefixes import Prefixes
from hitledger.policies.view import View


class BlockCache:
    """The longest common prefix with any earlier prompt, cut to full blocks and the model's minimum."""

    def __init__(self) -> None:
        self._prefixes = Prefixes()

    def forecast(self, view: View, now: datetime | None) -> Forecast:
        """Shared tokens, all but the last one at most where the rule computes that always, in full blocks."""
        shared = self._prefixes.longest(view, now)
        if shared is None:
            return Forecast(0, None)
        total = view.tokens_at(view.length)
        tokens = min(shared.tokens, total - 1 if view.rule.keeps_last else total)
        read = readable(view, tokens)
        return Forecast(read, shared.source if read else None, shared.position)

    def blocked(self, view: View, now: datetime | None, forecast: Forecast, more: bool) -> Blocked | None:
        """An entry for a longer prefix that expired or cannot be read yet."""
        found = self._prefixes.beyond(view, now, forecast.read)
        return found if found is not None and readable(view, found.tokens) > forecast.read else None

    def store(self, view: View, index: int, forecast: Forecast) -> int:
        """All positions of the prompt become readable; returns the prompt's length in full blocks."""
        self._prefixes.add(view, index)
        return readable(view, view.tokens_at(view.length))


def readable(view: View, tokens: int) -> int:
    """Full blocks only, unless the part of one is copied; nothing below the model's minimum."""
    whole = tokens if view.rule.partial_blocks else tokens - tokens % view.rule.block
    return whole if whole >= view.terms.minimum else 0
