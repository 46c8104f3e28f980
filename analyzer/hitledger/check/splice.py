"""Put a candidate's segments in the place of the baseline's in a recorded prompt, its cache marks kept."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from msgspec.structs import replace

from hitledger.types import Kind, Segment


def spliced(run: Sequence[Segment], old: Sequence[Segment], new: Sequence[Segment]) -> tuple[Segment, ...]:
    """`run` stands in the recorded prompt for the baseline's `old`, one for one; give what `new` makes of it.

    A segment that baseline and candidate share stays as it was recorded. A mark is the candidate's where the two
    sides set different ones; else the client set it, and it stays: on the same segment, on what replaces it, and on
    the last one where the last one had it.
    """
    partner = dict(_partners(old, new))
    recorded = {segment.digest: number for number, segment in enumerate(old)}
    end, last = len(new) - 1, len(old) - 1
    client_marks_end = run[last].mark is not None and bool(new) and old[last].mark == new[end].mark
    found: list[Segment] = []
    for number, segment in enumerate(new):
        source, same = partner.get(number), recorded.get(segment.digest)
        mark = segment.mark
        if client_marks_end and number == end:
            mark = run[last].mark
        elif source is not None and old[source].mark == segment.mark:
            mark = None if client_marks_end and source == last else run[source].mark
        base = segment if same is None else replace(run[same], path=segment.path)
        found.append(replace(base, mark=mark))
    return tuple(found)


def _partners(old: Sequence[Segment], new: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """(index in new, index in old) of segments that are equal, or that replace each other."""
    left, right = [segment.digest for segment in old], [segment.digest for segment in new]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag in ("equal", "replace"):
            yield from zip(range(j1, j2), range(i1, i2), strict=False)


def renumbered(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Tools with the paths that they have now, where they were numbered one by one before."""
    found: list[Segment] = []
    number = 0
    for segment in segments:
        if segment.kind is Kind.TOOL and segment.path.endswith("]"):
            base = segment.path.rpartition("[")[0]
            path = f"{base}[{number}]"
            number += 1
            segment = segment if segment.path == path else replace(segment, path=path)
        found.append(segment)
    return tuple(found)
