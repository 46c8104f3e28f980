"""What each prompt is made of, segment by segment; for machines."""

from hitledger.results import Audit
from hitledger_reports.shown import PATH, shown
from hitledger_reports.view.groups import sure
from hitledger_reports.view.table import Column, Table, Unit


def segments(audit: Audit) -> Table:
    """The segments of each call; those that it shares with its predecessor stand in the rows of that one.

    `number` counts the segments of the whole prompt, from 0; a call's `shared_segments` are the ones before its first.
    """
    columns = (
        Column("call", "Call"),
        Column("number", "Number", Unit.COUNT),
        Column("kind", "Kind"),
        Column("path", "Path"),
        Column("tokens", "Tokens", Unit.TOKENS, sure="certainty"),
        Column("certainty", ""),
        Column("digest", "Digest"),
        Column("marked", "Marked"),
        Column("lifetime", "Lifetime"),
    )
    rows = tuple(
        (
            shown(call.id),
            number,
            segment.kind.value,
            shown(segment.path, PATH),
            segment.tokens,
            sure(call, "segments").value,
            shown(segment.digest),
            "yes" if segment.marked else "no",
            None if segment.ttl is None else shown(segment.ttl),
        )
        for call in audit.calls
        for number, segment in enumerate(call.segments, call.shared_segments)
    )
    return Table("segments", "Segments", columns, rows)
