"""Which part of a prompt is meant to be read again: all in front of the last mark, without marks all but the newest message."""

from dataclasses import dataclass

from hitledger.check.material import Material, MaterialKind
from hitledger.types import Tier


@dataclass(frozen=True, slots=True)
class PrefixEnd:
    """Positions count leading segments. `marks` are positions behind marked segments, ascending."""

    position: int  # what stands in front of it is to be read again
    newest: int  # first segment of the newest message; the prompt's length where there is none
    marks: tuple[int, ...]

    def in_front(self, index: int) -> bool:
        """Whether the segment at an index has to stay the same."""
        return index < min(self.position, self.newest)


def prefix_end(material: Material) -> PrefixEnd:
    """The end of what has to stay the same. A text or a tool list alone has to stay the same as a whole."""
    segments = material.prompt.segments()
    if material.kind is not MaterialKind.BODY:
        return PrefixEnd(len(segments), len(segments), ())
    opening = [i for i, segment in enumerate(segments) if segment.tier is Tier.MESSAGES and segment.opens_message]
    newest = opening[-1] if opening else len(segments)
    marks = tuple(position for position, segment in enumerate(segments, 1) if segment.mark is not None)
    return PrefixEnd(marks[-1] if marks else newest, newest, marks)
