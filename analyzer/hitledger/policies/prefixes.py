"""What a prompt shares with all earlier ones: whole positions by their hash, then the part of the next segment."""

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from datetime import datetime

from hitledger.policies.cache import Blocked, Entry, Obstacle, age, alive, used_at, visible, visible_from
from hitledger.policies.view import ROOT, EntryKey, View
from hitledger.prefix import common_characters
from hitledger.types import Evidence, Kind, Segment

NOTHING: EntryKey = (ROOT, "")
MODEL_ROLES = frozenset({"assistant", "model"})


@dataclass(slots=True)
class Place:
    """A position that some prompt reached."""

    entry: Entry
    is_end: bool = False  # whether a prompt ended here, so that what the model said follows
    texts: list[str] = field(default_factory=list)  # of the segments that followed, sorted


@dataclass(frozen=True, slots=True)
class Shared:
    """The longest prefix that a prompt shares with an earlier one."""

    tokens: int
    position: int  # whole segments of it
    part: str  # the beginning of the next segment that is shared too
    entry: Entry


class Prefixes:
    """All prompts of one key as a tree of positions."""

    def __init__(self) -> None:
        self.places: dict[EntryKey, Place] = {}

    def longest(self, view: View, now: datetime | None) -> Shared | None:
        """The longest prefix shared with an earlier prompt that still lives and can be read."""
        for position, key in view.ends():
            found = self._usable(view, key, now)
            if found is not None:
                return self._extended(view, position, found)
        root = self._usable(view, NOTHING, now)
        return self._extended(view, 0, root) if root is not None else None

    def _usable(self, view: View, key: EntryKey, now: datetime | None) -> Place | None:
        place = self.places.get(key)
        if place is None or not alive(place.entry, view.rule, now) or not visible(place.entry, now):
            return None
        return place

    def _extended(self, view: View, position: int, place: Place) -> Shared:
        if place.is_end and view.rule.holds_output:
            position = behind_answer(view, position)
        part = ""
        if position < view.length and place.texts:
            part = _common_part(place.texts, view.segment(position).text or "")
        tokens = view.tokens_at(position) + part_tokens(view, position, part)
        return Shared(tokens, position, part, place.entry)

    def beyond(self, view: View, now: datetime | None, tokens: int) -> Blocked | None:
        """The longest matching position, if it is longer than `tokens` and is expired or not readable yet."""
        for position, key in view.ends():
            place = self.places.get(key)
            if place is None:
                continue
            entry, held = place.entry, view.tokens_at(position)
            if held <= tokens:
                return None
            if not alive(entry, view.rule, now):
                idle = age(entry, now)
                return Blocked(Obstacle.EXPIRED, entry.source, held, idle, view.rule.seconds(entry.ttl))
            if not visible(entry, now):
                return Blocked(Obstacle.NOT_YET_VISIBLE, entry.source, held)
            return None
        return None

    def add(self, view: View, index: int) -> None:
        """Take in all positions of a prompt."""
        now, seen_from = used_at(view), visible_from(view)
        following: Segment | None = None
        for position, key in (*view.ends(), (0, NOTHING)):
            place = self.places.get(key)
            if place is None:
                entry = Entry(0, view.rule.default_lifetime, now, seen_from, index)
                place = self.places[key] = Place(entry)
            else:
                if not alive(place.entry, view.rule, view.call.started_at):
                    place.entry.visible = seen_from
                place.entry.used, place.entry.source = now, index
            place.is_end = place.is_end or position == view.length
            if following is not None:
                _remember(place.texts, following.text)
            if position and view.call.evidence is Evidence.EXACT:
                following = view.segment(position - 1)


def behind_answer(view: View, position: int) -> int:
    """The position behind what the model said there, as far as the prompt repeats it."""
    while position < view.length and view.segment(position).role in MODEL_ROLES:
        position += 1
    return position


def part_tokens(view: View, position: int, part: str) -> int:
    """Tokens of the beginning of the segment at a position: counted for token ids, by length for texts."""
    if not part:
        return 0
    segment = view.segment(position)
    text = segment.text or ""
    if segment.kind is Kind.TOKENS:
        return part.count(",") + (len(part) == len(text))
    return int((view.tokens_at(position + 1) - view.tokens_at(position)) * len(part) / len(text))


def _common_part(texts: list[str], own: str) -> str:
    """The longest beginning that one of the sorted texts shares: with a neighbour of the own text in their order."""
    at = bisect_left(texts, own)
    return own[: max((common_characters(text, own) for text in texts[max(0, at - 1) : at + 1]), default=0)]


def _remember(texts: list[str], text: str | None) -> None:
    if text:
        at = bisect_left(texts, text)
        if at == len(texts) or texts[at] != text:
            insort(texts, text)
