"""DeepSeek's disk cache since V4: persisted units that a prompt has to contain whole.

Source: api-docs.deepseek.com/guides/kv_cache. Units end where the user's input ends, where the model's output ends, and
where two requests part once both have been seen: A+B, then A+C reads nothing but makes A a unit, then A+D reads A. Units
at fixed intervals exist as well, at a distance that is not published: reads can be longer than this says.
"""

from datetime import datetime
from itertools import chain

from msgspec import Struct, field

from hitledger.policies.cache import Blocked, Forecast
from hitledger.policies.lives import Held
from hitledger.policies.prefixes import NOTHING, Prefixes, behind_answer, held_alone, part_tokens, usable
from hitledger.policies.view import EntryKey, View


class Unit(Struct):
    """A persisted prefix: up to a position, or a part of the segment behind it further."""

    held: Held
    part: str = ""
    is_end: bool = False  # a prompt ended here, so a second unit stands behind the answer


class Units(Struct):
    """The units that share their whole segments, longest part first."""

    items: list[Unit] = field(default_factory=list)

    def put(self, unit: Unit) -> None:
        """Add one, or renew the one that is there."""
        for known in self.items:
            if known.part == unit.part:
                known.held = unit.held
                known.is_end = known.is_end or unit.is_end
                return
        self.items.append(unit)
        self.items.sort(key=lambda item: -len(item.part))


class UnitCache:
    """Units by the position behind which they end."""

    def __init__(self) -> None:
        self._units: dict[EntryKey, Units] = {}
        self._prefixes = Prefixes()  # all that was sent, to see where requests part

    def forecast(self, view: View, now: datetime | None) -> Forecast:
        """The longest unit that stands whole at the head of the prompt."""
        for position, key in chain(view.ends(), ((0, NOTHING),)):
            units = self._units.get(key)
            for unit in units.items if units is not None else ():
                if usable(unit.held, now) and _holds(view, position, unit):
                    return self._read(view, position, unit)
        return Forecast(0, None)

    def _read(self, view: View, position: int, unit: Unit) -> Forecast:
        if unit.is_end and view.rule.holds_output:
            position = behind_answer(view, position)
        read = _in_steps(view, view.tokens_at(position) + part_tokens(view, position, unit.part))
        return Forecast(read, unit.held.life.user if read else None, position)

    def blocked(self, view: View, now: datetime | None, forecast: Forecast, more: bool) -> Blocked | None:
        """A longer prefix that another request was still writing."""
        return self._prefixes.beyond(view, now, forecast.read)

    def store(self, view: View, index: int, forecast: Forecast) -> int:
        """A unit at the prompt's end, and one where it parts from an earlier prompt; returns the prompt's length."""
        held = held_alone(view, index)
        shared = self._prefixes.longest(view, view.call.started_at)
        if shared is not None and (shared.position or shared.part):
            self._put(_key(view, shared.position), Unit(held, shared.part))
        self._put(_key(view, view.length), Unit(held, is_end=True))
        self._prefixes.add(view, index)
        return _in_steps(view, view.tokens_at(view.length))

    def _put(self, key: EntryKey, unit: Unit) -> None:
        self._units.setdefault(key, Units()).put(unit)


def _key(view: View, position: int) -> EntryKey:
    return view.key(position) if position else NOTHING


def _holds(view: View, position: int, unit: Unit) -> bool:
    """Whether the prompt goes on with the unit's part."""
    if not unit.part:
        return position > 0
    return position < view.length and (view.segment(position).text or "").startswith(unit.part)


def _in_steps(view: View, tokens: int) -> int:
    whole = tokens - tokens % view.rule.block
    return whole if whole >= view.terms.minimum else 0
