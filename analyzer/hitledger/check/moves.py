"""The order of lasting and changing parts: what to move where, and how many tokens would stay readable then."""

from dataclasses import dataclass

from hitledger.check.differences import UNSORTED, Differing
from hitledger.check.material import Material
from hitledger.check.prefix_end import prefix_end
from hitledger.tokens import TokenCounter

MIN_TOKENS = 100  # less is not worth a move
SORTABLE = frozenset({"tools.reordered", "tools.key_order"})  # these are sorted, not moved


@dataclass(frozen=True, slots=True)
class Move:
    """Move the text at `path` from `start` to `end` (characters) behind `behind`.

    `tokens` is what stands behind it and lasts: lost at each call now, readable afterwards (estimated: counted with a
    public tokenizer).
    """

    path: str
    start: int
    end: int
    behind: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Spot:
    """The changing span that stands first: in which segment, at which characters of the value at `path`."""

    index: int
    path: str
    start: int
    end: int
    of_segment: bool  # whether the value is the segment's whole text


def spot_of(differing: Differing | None, material: Material) -> Spot | None:
    """Where something would have to be moved; None for what only needs sorting."""
    if differing is None or differing.cause in SORTABLE or differing.note == UNSORTED:
        return None
    whole = differing.before == material.prompt.own[differing.index].text
    return Spot(differing.index, differing.path, differing.start, differing.end, whole)


def advice(material: Material, first: Spot | None, volatile: frozenset[int], counter: TokenCounter) -> Move | None:
    """The move of the first changing span behind the last lasting part; None where nothing lasting stands behind it."""
    end = prefix_end(material)
    if first is None or not end.in_front(first.index):
        return None
    segments = material.prompt.own
    stop = min(end.position, end.newest)
    lasting = [i for i in range(first.index + 1, stop) if i not in volatile]
    own = segments[first.index].text or ""
    whole = counter.count(segments[first.index], material.model)
    rest = 0
    if first.of_segment:
        rest = max(0, whole - counter.prefix_tokens(own, first.end, material.model))
    tokens = rest + sum(counter.count(segments[i], material.model) for i in lasting)
    if tokens < MIN_TOKENS:
        return None
    behind = segments[lasting[-1]].path if lasting else first.path
    return Move(first.path, first.start, first.end, behind, tokens)
