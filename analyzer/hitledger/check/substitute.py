"""The candidate in place of the baseline in recorded calls: only where the baseline really stands in the prompt."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import orjson
from msgspec.structs import replace

from hitledger.check.material import Material, MaterialKind
from hitledger.check.pairs import Pair
from hitledger.check.splice import renumbered, spliced
from hitledger.segments import digest_of
from hitledger.types import Call, Kind, Parameter, Segment, Tier, prompt_of

SHORTEST = 20  # characters; a shorter text is looked for as a whole block only, not inside one
SYSTEM_ROLES = frozenset({"system", "developer"})


class Substitution:
    """Puts candidates into calls. Prompts that come again share their new segments."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs
        self._system: dict[tuple[Segment, int], Segment] = {}
        self._found: set[int] = set()
        self.moved_to: set[tuple[str, str]] = set()
        """(model of a call, model that it gets) so far."""

    @property
    def missing(self) -> tuple[Pair, ...]:
        """Changed parts whose baseline stood in no call so far: what they cost is not measured."""
        return tuple(pair for number, pair in enumerate(self._pairs) if pair.changed and number not in self._found)

    def apply(self, call: Call) -> Call | None:
        """The call with the candidate in it, the same object where nothing changes; None where no baseline is in it."""
        segments, parameters, asked, stands = call.prompt.segments(), call.parameters, call, False
        for number, pair in enumerate(self._pairs):
            if pair.baseline.kind is MaterialKind.SYSTEM:
                found = self._text(segments, pair, number)
            elif pair.baseline.kind is MaterialKind.TOOLS:
                found = _replaced(segments, pair, Tier.TOOLS)
            else:
                found = _body(segments, pair)
                if found is not None:
                    parameters, asked = _parameters(parameters, pair), self._of_model(asked, pair)
            if found is not None:
                segments, stands = found, True
                self._found.add(number)
        if not stands:
            return None
        if parameters == call.parameters and asked is call and _same(segments, call.prompt.segments()):
            return call
        return replace(asked, prompt=prompt_of(renumbered(segments)), parameters=parameters)

    def _of_model(self, call: Call, pair: Pair) -> Call:
        """The call to the candidate's model, where the baseline's was asked and the candidate's is another."""
        old, new = pair.baseline, pair.candidate
        if not pair.other_model or not new.model or old.model not in (call.model, call.served_model):
            return call
        self.moved_to.add((call.model, new.model))
        moved = replace(call, model=new.model, served_model="")
        return moved if old.provider == new.provider else replace(moved, provider=new.provider, tier="", route=())

    def _text(self, segments: tuple[Segment, ...], pair: Pair, number: int) -> tuple[Segment, ...] | None:
        old, new = pair.baseline.text, pair.candidate.text
        for one, other in _spellings(old, new):
            for index, segment in enumerate(segments):
                if segment.tier is not Tier.SYSTEM and segment.role not in SYSTEM_ROLES:
                    continue
                if not _holds(segment, one):
                    continue
                key = (segment, number)
                made = self._system.get(key)
                if made is None:
                    made = self._system[key] = _rewritten(segment, one, other)
                return (*segments[:index], made, *segments[index + 1 :])
        return None


def _spellings(old: str, new: str) -> Iterator[tuple[str, str]]:
    """A file's text as clients send it: as it is, with the line ends of a text stream, without the blanks around it."""
    yield old, new
    if "\r\n" in old:
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        yield old, new
    yield old.strip(), new.strip()


def _holds(segment: Segment, text: str) -> bool:
    if segment.text is None or len(text) < SHORTEST:
        return digest_of(segment.kind, segment.role, text) == segment.digest
    return text in segment.text


def _rewritten(segment: Segment, old: str, new: str) -> Segment:
    if old == new:
        return segment
    text = new if segment.text is None else segment.text.replace(old, new, 1)
    digest = digest_of(segment.kind, segment.role, text)
    return replace(segment, text=text, chars=len(text), digest=digest)


def _replaced(segments: tuple[Segment, ...], pair: Pair, *tiers: Tier) -> tuple[Segment, ...] | None:
    """The baseline's segments of some tiers, which stand in the prompt one behind the other, replaced."""
    old = [segment for segment in pair.baseline.prompt.own if segment.tier in tiers]
    new = [segment for segment in pair.candidate.prompt.own if segment.tier in tiers]
    if not old:
        return None
    wanted = [_content(segment) for segment in old]
    places = [index for index, segment in enumerate(segments) if segment.tier in tiers]
    for first in range(len(places) - len(old) + 1):
        run = [segments[index] for index in places[first : first + len(old)]]
        if [_content(segment) for segment in run] == wanted:
            start = places[first]
            return (*segments[:start], *spliced(run, old, new), *segments[start + len(old) :])
    return None


def _body(segments: tuple[Segment, ...], pair: Pair) -> tuple[Segment, ...] | None:
    """Every part that differs has to stand in the prompt; where none differs, tools and system have to."""
    tiers = [tier for tier in Tier if _differs(pair, tier)]
    for tier in tiers or [tier for tier in (Tier.TOOLS, Tier.SYSTEM) if _has(pair.baseline, tier)]:
        found = _replaced(segments, pair, tier) if _has(pair.baseline, tier) else _inserted(segments, pair, tier)
        if found is None:
            return None
        segments = found
    return segments


def _inserted(segments: tuple[Segment, ...], pair: Pair, tier: Tier) -> tuple[Segment, ...] | None:
    """A part that the baseline does not have at all: put where it belongs, if the call has none either."""
    if any(segment.tier is tier for segment in segments):
        return None
    order = list(Tier)
    start = sum(order.index(segment.tier) < order.index(tier) for segment in segments)
    new = tuple(segment for segment in pair.candidate.prompt.own if segment.tier is tier)
    return (*segments[:start], *new, *segments[start:])


def _differs(pair: Pair, tier: Tier) -> bool:
    old, new = (
        [(s.digest, s.mark) for s in side.prompt.own if s.tier is tier] for side in (pair.baseline, pair.candidate)
    )
    return old != new


def _has(material: Material, tier: Tier) -> bool:
    return any(segment.tier is tier for segment in material.prompt.own)


def _parameters(parameters: tuple[Parameter, ...], pair: Pair) -> tuple[Parameter, ...]:
    """Parameters that the two bodies set differently, where the call has the baseline's."""
    old = {parameter.name: parameter for parameter in pair.baseline.parameters}
    new = {parameter.name: parameter for parameter in pair.candidate.parameters}
    found = {parameter.name: parameter for parameter in parameters}
    for name in old.keys() | new.keys():
        before, after, own = old.get(name), new.get(name), found.get(name)
        if before == after or (own.value if own else None) != (before.value if before else None):
            continue
        found.pop(name, None)
        if after is not None:
            found[name] = after
    return tuple(found[name] for name in sorted(found))


def _same(left: Sequence[Segment], right: Sequence[Segment]) -> bool:
    return len(left) == len(right) and all(
        a is b or (a.digest == b.digest and a.mark == b.mark) for a, b in zip(left, right, strict=True)
    )


@lru_cache(maxsize=65536)
def _content(segment: Segment) -> bytes:
    """What is compared: for a tool its JSON value, so that a file written with other spaces or key order is found."""
    if segment.kind is not Kind.TOOL or segment.text is None:
        return segment.digest
    try:
        return orjson.dumps(orjson.loads(segment.text), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        return segment.digest
