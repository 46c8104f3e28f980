"""Compare what a renderer gave under each condition with the reference: every differing span, with its cause."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hitledger.causes.case import Confidence, changes
from hitledger.causes.catalogue import catalogue
from hitledger.check.conditions import AGAIN
from hitledger.check.differences import Differing, differences
from hitledger.check.findings import CheckFinding, Level, finding
from hitledger.check.material import Material
from hitledger.check.prefix_end import prefix_end

PROCESS = "process"
ALWAYS = (AGAIN, PROCESS)  # what differs in an equal process differs under every condition: no other is to be named
WHOLE_LIST = frozenset({"tools.reordered", "tools.set_changed"})  # one finding, whichever tool differs first


@dataclass(slots=True)
class _Place:
    """A differing span, seen under some conditions."""

    first: Differing
    start: int
    end: int
    conditions: list[str] = field(default_factory=list)

    def names(self) -> tuple[str, ...]:
        named = [name for name in self.conditions if name in ALWAYS or PROCESS not in self.conditions]
        return tuple(dict.fromkeys(named))


def unstable(reference: Material, others: Sequence[tuple[str, Material]]) -> tuple[CheckFinding, ...]:
    """Findings in the order of the prompt. `others` are (condition, what was rendered under it)."""
    places: dict[str, list[_Place]] = {}
    for condition, other in others:
        for differing in differences(reference, other, condition):
            group = differing.cause if differing.cause in WHOLE_LIST else differing.path
            _add(places.setdefault(group, []), differing, condition)
    found = [place for group in places.values() for place in group]
    found.sort(key=lambda place: (place.first.index, place.start))
    return (*(_finding(reference, place) for place in found), *_parameters(reference, others))


def first_unstable(reference: Material, others: Sequence[tuple[str, Material]]) -> Differing | None:
    """The differing span that stands first in the prompt."""
    found = [one for condition, other in others for one in differences(reference, other, condition)]
    return min(found, key=lambda one: (one.index, one.start), default=None)


def unstable_segments(reference: Material, others: Sequence[tuple[str, Material]]) -> frozenset[int]:
    """Indices of the segments that differ under any condition."""
    return frozenset(one.index for condition, other in others for one in differences(reference, other, condition))


def _add(places: list[_Place], differing: Differing, condition: str) -> None:
    for place in places:
        if differing.start <= place.end and place.start <= differing.end:
            place.start, place.end = min(place.start, differing.start), max(place.end, differing.end)
            place.conditions.append(condition)
            place.first = min(place.first, differing, key=lambda one: one.index)
            return
    places.append(_Place(differing, differing.start, differing.end, [condition]))


def _finding(reference: Material, place: _Place) -> CheckFinding:
    one, end = place.first, prefix_end(reference)
    in_front = end.in_front(one.index)
    note = one.note
    if not in_front:
        note = "; ".join(filter(None, (note, "stands behind what is to be read again, so it breaks nothing")))
    return finding(
        reference,
        one.cause,
        one.path,
        Level.ERROR if in_front else Level.NOTE,
        one.confidence,
        offset=one.start,
        before=one.before,
        after=one.after,
        after_offset=one.after_start,
        note=note,
        conditions=place.names(),
    )


def _parameters(reference: Material, others: Iterable[tuple[str, Material]]) -> Iterator[CheckFinding]:
    seen: set[str] = set()
    for condition, other in others:
        for change in changes(reference.parameters, other.parameters):
            cause = f"param.{change.name}"
            if change.name in seen or cause not in catalogue():
                continue
            seen.add(change.name)
            before = change.before.value if change.before else ""
            after = change.after.value if change.after else ""
            yield finding(
                reference,
                cause,
                change.path,
                Level.ERROR,
                Confidence.CERTAIN,
                before=before,
                after=after,
                conditions=(condition,),
            )
