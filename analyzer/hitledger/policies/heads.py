"""The hidden head of a transcript: its length and what outlives it are not in the log and are learned from usage.

A transcript does not hold tools and system prompt. Two figures of them show in the usage of other calls of the session:
what its calls read although nothing of the session was there (a part that other sessions keep warm; the least such
read counts), and what was read when the messages missed (tools and system). Both serve the calls that come after, never the one that shows them.
"""

from msgspec import Struct

from hitledger.policies.cache import Forecast
from hitledger.policies.view import View
from hitledger.types import Evidence


class Head(Struct):
    """What a session's usage has shown of its hidden part, in tokens; None: not yet."""

    length: int | None = None
    shared: int | None = None
    shared_by: int | None = None  # index of the call that showed it


class Heads:
    """Heads by session, agent and model."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, str, str], Head] = {}

    def of(self, view: View) -> Head:
        """What is known of the head of this call's session."""
        return self._heads.setdefault((view.call.session, view.call.agent, view.call.model), Head())

    def learn(self, view: View, index: int, forecast: Forecast) -> None:
        """Take in a call of a transcript that found nothing but the head, or nothing at all."""
        usage = view.call.usage
        if view.call.evidence is not Evidence.RECONSTRUCTED or usage is None or not usage.cache_read_tokens:
            return
        head = self.of(view)
        if forecast.position and head.length is None and usage.cache_read_tokens <= forecast.read:
            head.length = usage.cache_read_tokens
        elif not forecast.position and (head.shared is None or usage.cache_read_tokens < head.shared):
            head.shared, head.shared_by = usage.cache_read_tokens, index
