"""Caches with entries at marked ends: Anthropic's breakpoints and OpenAI's message ends.

They differ in where a request looks and where it writes (`breakpoints.py`, `message_ends.py`); entries, lifetimes and
what is billed are the same.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from hitledger.policies import breakpoints, message_ends
from hitledger.policies.cache import Blocked, Forecast, Obstacle, used_at, visible_from
from hitledger.policies.heads import Heads
from hitledger.policies.lives import MarkedEntry, alive, life_behind, lives_of, renew, visible
from hitledger.policies.rule import Algorithm
from hitledger.policies.view import EntryKey, View

FARTHEST = 256  # calls back in a transcript; each call of a long one would go through all of them otherwise


class MarkedCache:
    """Entries at marks. A request reads the longest entry within reach and writes one entry a mark."""

    def __init__(self, heads: Heads | None = None) -> None:
        self._entries: dict[EntryKey, MarkedEntry] = {}
        self._heads = heads if heads is not None else Heads()

    def forecast(self, view: View, now: datetime | None) -> Forecast:
        """The longest entry that a mark finds; writes at the marks behind it, longer lifetimes first."""
        entries = self._entries
        left = self._left_by_base(view, now)
        if left is not None:
            return left
        for position, key in _looked_at(view):
            entry = entries.get(key)
            if entry is not None and alive(entry.life, now) and visible(entry, now):
                tokens = entry.tokens
                if not entry.exact and self._is_head(view, position):
                    tokens = self._heads.of(view).length or tokens
                return Forecast(tokens, entry.source, position, entry.exact, entry, view)
        return self._nothing_found(view)

    def _left_by_base(self, view: View, now: datetime | None) -> Forecast | None:
        """Nearly every call of a transcript reads what the one that it extends has left. None: look everywhere."""
        prompt, base, salt = view.prompt, view.prompt.base, view.whole_salt
        if base is None or base.base is None or view.client_ttl is None:
            return None
        if base.length <= prompt.length - view.rule.lookback or (prompt, salt) in self._entries:
            return None
        entry = self._entries.get((base, salt))
        if entry is None or not entry.exact or not base.length:
            return None
        if not alive(entry.life, now) or not visible(entry, now):
            return None
        return Forecast(entry.tokens, entry.source, base.length, True, entry, view)

    def _nothing_found(self, view: View) -> Forecast:
        """All of a transcript's entries are gone: what other sessions keep warm of its head can still be read."""
        head = self._heads.of(view) if view.prompt.base is not None else None
        if head is None or head.shared is None:
            return Forecast(0, None, 0, True, None, view)
        return Forecast(head.shared, head.shared_by, 0, False, None, view)

    def _is_head(self, view: View, position: int) -> bool:
        return position == view.root.length < view.length

    def blocked(self, view: View, now: datetime | None, forecast: Forecast, more: bool) -> Blocked | None:
        """Look for an entry that lies beyond what is read: at every position, of a transcript at its last ones.

        One that still lives says more than a longer one that expired: that one the predecessor did not leave.
        """
        reach, written = {position for position, _ in _looked_at(view)}, view.written
        expired: Blocked | None = None
        for position, key in islice(view.ends(), FARTHEST if view.prompt.base is not None else None):
            if position <= forecast.position and not more:
                break
            entry = self._entries.get(key)
            if entry is None or entry.tokens <= forecast.read:
                continue
            if not alive(entry.life, now):
                expired = expired or Blocked(Obstacle.EXPIRED, entry.source, entry.tokens, entry.tokens)
                continue
            longest = expired.tokens if expired is not None else entry.tokens
            if not visible(entry, now):
                return Blocked(Obstacle.NOT_YET_VISIBLE, entry.source, entry.tokens, longest)
            if position in reach:
                continue
            last = written[-1].position if written else 0
            if position > last:
                return Blocked(Obstacle.BEHIND_MARKS, entry.source, entry.tokens, longest)
            by_ends = view.rule.algorithm is Algorithm.MESSAGE_ENDS
            back = message_ends.back_to(view, position) if by_ends else last - position + 1
            return Blocked(Obstacle.BEYOND_LOOKBACK, entry.source, entry.tokens, longest, back)
        return expired

    def store(self, view: View, index: int, forecast: Forecast) -> int:
        """Write an entry at each written mark and refresh what was read; returns the longest entry left."""
        left_behind = self._left_behind_base(view, index, forecast)
        if left_behind is not None:
            return left_behind
        rule, entries = view.rule, self._entries
        now, started = used_at(view), view.call.started_at
        last, left, read_to = forecast.entry, forecast.read, forecast.position
        if last is None or self._is_head(view, read_to):
            self._heads.learn(view, index, forecast)
        if last is not None and rule.refreshed_by_read:
            for life in lives_of(last):  # logs show that short entries outlive their own last read
                if alive(life, started):
                    life.used, life.user = now, index
        places = _written_at(view)
        in_front: MarkedEntry | None = None  # of what was read: an entry has only shorter ones for parents
        for place in places:
            position, ttl, key = place
            entry = entries.get(key)
            if entry is not None and (entry.life.user == index or alive(entry.life, started)):
                if rule.refreshed_by_read:
                    renew(entry, rule, ttl, now, index)
            else:
                tokens, exact = _entry_tokens(view, position, place is places[-1])
                if not tokens or tokens < view.terms.minimum:
                    continue
                parent = last if position > read_to else in_front
                life = life_behind(parent, rule, ttl, now, index)
                entry = entries[key] = MarkedEntry(visible_from(view), parent, life, tokens, index, exact)
            left = max(left, entry.tokens)
            if position > read_to:
                last = entry
            else:
                in_front = entry
        return left

    def _left_behind_base(self, view: View, index: int, forecast: Forecast) -> int | None:
        """Nearly every call of a transcript has read what the one that it extends has left, and all that it read has one
        life, which goes on and takes in what the call writes. None: go through all lives and marks."""
        entry, prompt, ttl = forecast.entry, view.prompt, view.client_ttl
        if entry is None or ttl is None or prompt.base is None or forecast.position != prompt.base.length:
            return None
        life, key, head = entry.life, (prompt, view.whole_salt), self._entries.get(view.head)
        if life.last is not entry or life.ttl != ttl or not view.rule.refreshed_by_read:
            return None
        if head is None or head.life is not life or head is entry or key in self._entries:
            return None
        tokens, exact = _entry_tokens(view, prompt.length, True)
        if not tokens or tokens < view.terms.minimum:
            return None
        life.used, life.user = used_at(view), index
        self._entries[key] = MarkedEntry(visible_from(view), entry, life, tokens, index, exact)
        return max(forecast.read, head.tokens, tokens)


Place = tuple[int, str, EntryKey]  # position, lifetime, what an entry there is found by


def _written_at(view: View) -> tuple[Place, ...]:
    """Where the request writes, first to last."""
    ttl, prompt, head = view.client_ttl, view.prompt, view.root.length
    if ttl is None or prompt.base is None:
        return tuple((mark.position, mark.ttl, view.key(mark.position)) for mark in view.written)
    end = (prompt.length, ttl, (prompt, view.whole_salt))  # a transcript's: most calls by far
    return ((head, ttl, view.head), end) if 0 < head < prompt.length else (end,)


def _looked_at(view: View) -> Iterator[tuple[int, EntryKey]]:
    """Positions where an entry may be found, with their keys, longest first."""
    if view.rule.algorithm is Algorithm.MESSAGE_ENDS:
        return ((position, view.key(position)) for position in message_ends.reach(view))
    return breakpoints.reach(view)


def _entry_tokens(view: View, position: int, last: bool) -> tuple[int, bool]:
    """Length of the entry at a mark, and whether it is logged: read + write says it for the last one."""
    usage = view.call.usage
    if last and usage is not None and usage.cache_read_tokens is not None and not usage.read_accumulated:
        reported = usage.cache_read_tokens + (usage.cache_write_tokens or 0)
        if reported:
            return reported, True
    return view.tokens_at(position), False
