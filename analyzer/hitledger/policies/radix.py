"""SGLang's and TGI's radix tree: the longest common prefix by tokens, in pages.

Source: sglang 0.5.23, `mem_cache/radix_cache.py`: a prompt is matched without its last token, and the match is cut to a
multiple of the page size (1 unless an attention backend raises it). Nodes are split where prompts part, so with pages of
one token nothing is rounded; what leaves fall out under pressure is the simulator's matter, not a rule's.
"""

from datetime import datetime

from hitledger.policies.cache import Blocked, Forecast
from hitledger.policies.prefixes import Prefixes
from hitledger.policies.view import View


class RadixCache:
    """A tree over tokens. The rule's `block` is the page size."""

    def __init__(self) -> None:
        self._prefixes = Prefixes()

    def forecast(self, view: View, now: datetime | None) -> Forecast:
        """The match of all tokens but the last, cut to whole pages."""
        shared = self._prefixes.longest(view, now)
        if shared is None:
            return Forecast(0, None)
        read = _pages(view, min(shared.tokens, view.tokens_at(view.length) - 1))
        return Forecast(read, shared.source if read else None, shared.position)

    def blocked(self, view: View, now: datetime | None, forecast: Forecast, more: bool) -> Blocked | None:
        """An entry for a longer prefix that is still being computed."""
        return self._prefixes.beyond(view, now, forecast.read)

    def store(self, view: View, index: int, forecast: Forecast) -> int:
        """The whole prompt goes into the tree, as far as it fills pages."""
        self._prefixes.add(view, index)
        return _pages(view, view.tokens_at(view.length))


def _pages(view: View, tokens: int) -> int:
    return max(0, tokens - tokens % view.rule.block)
