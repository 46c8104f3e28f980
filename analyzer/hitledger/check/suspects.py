"""Text in front of a mark that looks as if it changed from call to call. Seen in one text alone, so never certain."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hitledger.check.findings import CheckFinding, Level, finding
from hitledger.check.material import Material
from hitledger.check.moves import Spot
from hitledger.check.prefix_end import prefix_end
from hitledger.check.shapes import Match, volatile_matches
from hitledger.types import Tier

LISTED = 20  # of one kind in one block; more of it are counted


@dataclass(frozen=True, slots=True)
class Suspect:
    """A finding and where its text stands."""

    finding: CheckFinding
    spot: Spot


def suspects(material: Material) -> Iterator[Suspect]:
    """Volatile-looking text in tools and system prompt, as far as it has to stay the same."""
    end = prefix_end(material)
    for index, segment in enumerate(material.prompt.own):
        if segment.tier is Tier.MESSAGES or not end.in_front(index) or not segment.text:
            continue
        matches = volatile_matches(segment.text)
        totals = Counter(match.what for match in matches)
        seen: Counter[str] = Counter()
        for match in matches:
            seen[match.what] += 1
            if seen[match.what] > LISTED:
                continue
            unlisted = totals[match.what] - LISTED if seen[match.what] == LISTED else 0
            cause = match.cause if segment.tier is Tier.SYSTEM else "tools.text_changed"
            found = finding(
                material,
                cause,
                segment.path,
                Level.WARNING,
                match.confidence,
                offset=match.start,
                before=segment.text,
                note=_note(match, segment.text, unlisted),
            )
            yield Suspect(found, Spot(index, segment.path, match.start, match.end, of_segment=True))


def _note(match: Match, text: str, unlisted: int) -> str:
    note = f"looks like {match.what}: {text[match.start : match.end][:60]}"
    return f"{note}; {unlisted:,} more of these are not listed" if unlisted > 0 else note
