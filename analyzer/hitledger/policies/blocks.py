"""Caches that read the longest common prefix in full blocks: vLLM-like engines, OpenAI's automatic cache."""

from datetime import datetime

from hitledger.policies.cache import (
    Blocked,
    Entry,
    Forecast,
    Obstacle,
    age,
    alive,
    used_at,
    visible,
    visible_from,
)
from hitledger.policies.view import ROOT, View
from hitledger.prefix import common_characters
from hitledger.types import Evidence, Segment


class BlockCache:
    """Every position of every prompt is an entry; the first unequal segment is compared by its text."""

    def __init__(self) -> None:
        self._entries: dict[tuple[bytes, str], Entry] = {}
        self._next: dict[tuple[bytes, str], Segment] = {}

    def forecast(self, view: View, now: datetime | None) -> Forecast:
        """The longest common prefix with any earlier prompt, cut to full blocks and the model's minimum."""
        for position, key in view.ends():
            entry = self._entries.get(key)
            if entry is not None and alive(entry, view.rule, now) and visible(entry, now):
                return self._cut(view, position, entry)
        root = self._entries.get((ROOT, ""))
        return self._cut(view, 0, root) if root is not None and alive(root, view.rule, now) else Forecast(0, None)

    def _cut(self, view: View, position: int, entry: Entry) -> Forecast:
        tokens = view.tokens_at(position) + self._shared_part(view, position)
        total = view.tokens_at(view.length)
        tokens = min(tokens, total - 1 if view.rule.keeps_last else total)
        read = floor_to_block(view, tokens)
        return Forecast(read, entry.source if read else None, position)

    def _shared_part(self, view: View, position: int) -> int:
        """Tokens that the next segment shares with what followed this prefix before."""
        if position == view.length:
            return 0
        other = self._next.get(view.key(position) if position else (ROOT, ""))
        own = view.segment(position)
        if other is None or other.text is None or own.text is None or not own.text:
            return 0
        share = common_characters(other.text, own.text) / len(own.text)
        return int((view.tokens_at(position + 1) - view.tokens_at(position)) * share)

    def blocked(self, view: View, now: datetime | None, read: int) -> Blocked | None:
        """An entry for a longer prefix that expired or cannot be read yet."""
        for position, key in view.ends():
            entry = self._entries.get(key)
            if entry is None:
                continue
            tokens = floor_to_block(view, view.tokens_at(position))
            if tokens <= read:
                return None
            if not alive(entry, view.rule, now):
                idle = age(entry, now)
                return Blocked(Obstacle.EXPIRED, entry.source, tokens, idle, view.rule.seconds(entry.ttl))
            if not visible(entry, now):
                return Blocked(Obstacle.NOT_YET_VISIBLE, entry.source, tokens)
            return None
        return None

    def store(self, view: View, index: int, forecast: Forecast) -> int:
        """All positions of the prompt become readable; returns the prompt's length in full blocks."""
        now, seen_from = used_at(view), visible_from(view)
        following: Segment | None = None
        for position, key in view.ends():
            entry = self._entries.get(key)
            if entry is None:
                self._entries[key] = Entry(0, view.rule.default_lifetime, now, seen_from, index)
            else:
                if not alive(entry, view.rule, view.call.started_at):
                    entry.visible = seen_from
                entry.used, entry.source = now, index
            if following is not None:
                self._next[key] = following
            following = view.segment(position - 1) if view.call.evidence is Evidence.EXACT else None
        if following is not None:
            self._next[ROOT, ""] = following
            self._entries[ROOT, ""] = Entry(0, view.rule.default_lifetime, now, seen_from, index)
        return floor_to_block(view, view.tokens_at(view.length))


def floor_to_block(view: View, tokens: int) -> int:
    """Full blocks only, nothing below the model's minimum."""
    whole = tokens - tokens % view.rule.block
    return whole if whole >= view.rule.minimum(view.call.model) else 0
