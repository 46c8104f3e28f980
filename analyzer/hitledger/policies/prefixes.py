"""What a prompt shares with all earlier ones: whole positions by their hash, then the part of the next segment."""

from bisect import bisect_left, insort
from datetime import datetime

from msgspec import Struct, field

from hitledger.policies.cache import Blocked, Obstacle, used_at, visible_from
from hitledger.policies.lives import Held, Life, alive, life_behind, lives_of, visible
from hitledger.policies.view import ROOT, EntryKey, View
from hitledger.prefix import common_characters
from hitledger.types import Evidence, Kind, Segment

NOTHING: EntryKey = (ROOT, "")
MODEL_ROLES = frozenset({"assistant", "model"})


class Place(Held, eq=False):
    """A position that some prompt reached."""

    position: int
    is_end: bool = False  # whether a prompt ended here, so that what the model said follows


class Following(Struct):
    """What followed a position, with the parameters that count there."""

    held: Held
    texts: list[str] = field(default_factory=list)  # of segments, sorted


class Shared(Struct, frozen=True):
    """The longest prefix that a prompt shares with an earlier one."""

    tokens: int
    position: int  # whole segments of it
    part: str  # the beginning of the next segment that is shared too
    source: int  # index of the call that used it last


class Prefixes:
    """All prompts of one key as a tree of positions."""

    def __init__(self) -> None:
        self.places: dict[EntryKey, Place] = {}
        self._following: dict[EntryKey, Following] = {}

    def longest(self, view: View, now: datetime | None) -> Shared | None:
        """The longest prefix shared with an earlier prompt that still lives and can be read."""
        known = (self.places.get(key) for _, key in view.ends())
        place: Held | None = next((place for place in known if place is not None), None)
        while isinstance(place, Place):
            if usable(place, now):
                return self._extended(view, place.position, place, now)
            place = place.parent if alive(place.life, now) else place.life.front  # what shares a life is gone with it
        part = self._part(view, 0, now)
        return None if part is None else Shared(part_tokens(view, 0, part[0]), 0, *part)

    def _extended(self, view: View, position: int, place: Place, now: datetime | None) -> Shared:
        if place.is_end and view.rule.holds_output:
            position = behind_answer(view, position)
        part = self._part(view, position, now)
        text = part[0] if part is not None else ""
        return Shared(view.tokens_at(position) + part_tokens(view, position, text), position, text, place.life.user)

    def _part(self, view: View, position: int, now: datetime | None) -> tuple[str, int] | None:
        """The beginning of the next segment that some earlier prompt had there too."""
        if position >= view.length or view.call.evidence is not Evidence.EXACT:
            return None
        following = self._following.get(_following_key(view, position))
        if following is None or not usable(following.held, now):
            return None
        return _longest_part(following.texts, view.segment(position)), following.held.life.user

    def beyond(self, view: View, now: datetime | None, tokens: int) -> Blocked | None:
        """The longest matching position, if it is longer than `tokens` and is expired or not readable yet."""
        for position, key in view.ends():
            place = self.places.get(key)
            if place is None:
                continue
            life, held = place.life, view.tokens_at(position)
            if held <= tokens:
                return None
            if not alive(life, now):
                return Blocked(Obstacle.EXPIRED, life.user, held, held)
            if not usable(place, now):
                return Blocked(Obstacle.NOT_YET_VISIBLE, life.user, held, held)
            return None
        return None

    def add(self, view: View, index: int) -> None:
        """Take in all positions of a prompt. What stands in front of a known one is known as well."""
        new: list[tuple[int, EntryKey]] = []
        front: Place | None = None
        for position, key in view.ends():
            front = self.places.get(key)
            if front is not None:
                _use(front, view, index)
                break
            new.append((position, key))
        for position, key in reversed(new):
            life = life_behind(front, view.rule, view.rule.default_lifetime, used_at(view), index)
            front = self.places[key] = Place(visible_from(view), front, life, position)
        if front is not None:
            front.is_end = True
        if view.call.evidence is Evidence.EXACT:
            self._add_following(view, index)

    def _add_following(self, view: View, index: int) -> None:
        """What stands behind each position, so that later prompts can share a part of it."""
        for position in range(view.length):
            key = _following_key(view, position)
            following = self._following.get(key)
            if following is None:
                following = self._following[key] = Following(held_alone(view, index))
            else:
                _use(following.held, view, index)
            _remember(following.texts, view.segment(position).text)


def usable(held: Held, now: datetime | None) -> bool:
    """Whether a prefix lives and can be read."""
    return alive(held.life, now) and visible(held, now)


def held_alone(view: View, index: int) -> Held:
    """What a call writes and what lives by itself."""
    rule = view.rule
    life = Life(used_at(view), rule.default_lifetime, rule.seconds(rule.default_lifetime), index, None)
    return Held(visible_from(view), None, life)


def _use(held: Held, view: View, index: int) -> None:
    """The prompt holds a known prefix and all in front of it: those that had expired are written anew."""
    for life in lives_of(held):
        if not alive(life, view.call.started_at):
            life.visible = visible_from(view)
        life.used, life.user = used_at(view), index


def _following_key(view: View, position: int) -> EntryKey:
    """What stands before a position, and the parameters that count for the segment behind it."""
    before = view.key(position)[0] if position else ROOT
    return before, view.terms.salt[view.segment(position).tier]


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
        return part.count(",") + 1
    return int((view.tokens_at(position + 1) - view.tokens_at(position)) * len(part) / len(text))


def _longest_part(texts: list[str], own: Segment) -> str:
    """The longest beginning that one of the sorted texts shares: with a neighbour of the own text in their order."""
    at = bisect_left(texts, own.text or "")
    return max((common_part(text, own) for text in texts[max(0, at - 1) : at + 1]), key=len, default="")


def common_part(other: str, own: Segment) -> str:
    """The common beginning of a text and a segment's; of token ids only whole ones."""
    text = own.text or ""
    end = common_characters(other, text)
    if own.kind is not Kind.TOKENS:
        return text[:end]
    if all(end == len(one) or one[end] == "," for one in (other, text)):
        return text[:end]
    return text[: max(0, text.rfind(",", 0, end))]


def _remember(texts: list[str], text: str | None) -> None:
    if text:
        at = bisect_left(texts, text)
        if at == len(texts) or texts[at] != text:
            insort(texts, text)
