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


def advice(material: Material, first: Differing | None, volatile: frozenset[int], counter: TokenCounter) -> Move | None:
    """The move of the first changing span behind the last lasting part; None where nothing lasting stands behind it."""
    end = prefix_end(material)
    if first is None or not end.in_front(first.index) or first.cause in SORTABLE or first.note == UNSORTED:
        return None
    segments = material.prompt.own
    stop = min(end.position, end.newest)
    lasting = [i for i in range(first.index + 1, stop) if i not in volatile]
    own = segments[first.index].text or ""
    whole = counter.count(segments[first.index], material.model)
    rest = 0
    if first.before == own:
        rest = max(0, whole - counter.prefix_tokens(own, first.end, material.model))
    tokens = rest + sum(counter.count(segments[i], material.model) for i in lasting)
    if tokens < MIN_TOKENS:
        return None
    behind = segments[lasting[-1]].path if lasting else first.path
    return Move(first.path, first.start, first.end, behind, tokens)
