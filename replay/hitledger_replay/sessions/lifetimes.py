"""Entries of the engine's cache die on the virtual clock, and prompts below a provider's minimum leave none."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence

from hitledger_replay.cache import PagedCache


class Lifetimes:
    """Watches when each content was last used; the cache itself knows no time."""

    def __init__(self, cache: PagedCache, seconds: float) -> None:
        self._cache = cache
        self._seconds = seconds
        self._used: OrderedDict[Hashable, float] = OrderedDict()

    def expire(self, now: float) -> int:
        """Drop every content last used more than the lifetime before `now`; returns how many."""
        dropped = 0
        while self._used:
            content, used = next(iter(self._used.items()))
            if used >= now - self._seconds:
                break
            del self._used[content]
            self._cache.pool.drop(content)
            dropped += 1
        return dropped

    def touch(self, contents: Sequence[Hashable], now: float) -> None:
        """A call used or stored `contents`."""
        for content in contents:
            if self._cache.pool.find(content) is not None:
                self._used[content] = now
                self._used.move_to_end(content)

    def unstored(self, contents: Sequence[Hashable]) -> tuple[Hashable, ...]:
        """Those of `contents` that are not cached now."""
        return tuple(content for content in contents if self._cache.pool.find(content) is None)

    def forget(self, contents: Sequence[Hashable]) -> None:
        """The provider would not have kept these."""
        for content in contents:
            self._cache.pool.drop(content)
