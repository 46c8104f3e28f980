"""What the static part finds, as a value."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from hitledger.causes.case import Confidence
from hitledger.causes.catalogue import fix_of
from hitledger.check.lines import line_of
from hitledger.check.material import Material
from hitledger.redact import redact, window

WIDTH = 40  # characters shown on either side


class Level(StrEnum):
    """What a finding means for the prompt."""

    ERROR = "error"  # a prefix that is never read again, or a request that is refused
    WARNING = "warning"  # looks like it, or costs reads without breaking
    NOTE = "note"  # stands where it costs nothing


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One finding. `before` and `after` are short redacted windows; None where there is nothing to compare.

    `conditions` are those under which a renderer gave another text; empty for what was seen in one text alone.
    """

    cause: str
    confidence: Confidence
    level: Level
    path: str
    file: str
    line: int
    note: str
    fix: str
    before: str | None = None
    after: str | None = None
    conditions: tuple[str, ...] = ()
    char_offset: int | None = None
    known: bool = False  # in the committed file of known findings, or in the baseline as well

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same finding at the next run: no text, since that is what changes."""
        return self.cause, self.file, self.path


def finding(
    material: Material,
    cause: str,
    path: str,
    level: Level,
    confidence: Confidence = Confidence.CERTAIN,
    *,
    offset: int | None = None,
    before: str | None = None,
    after: str | None = None,
    after_offset: int | None = None,
    note: str = "",
    conditions: tuple[str, ...] = (),
) -> CheckFinding:
    """A finding with its line, its fix and redacted windows around the offsets."""
    return CheckFinding(
        cause=cause,
        confidence=confidence,
        level=level,
        path=path,
        file=material.file,
        line=line_of(material, path, offset or 0),
        note=redact(note),
        fix=fix_of(cause),
        before=None if before is None else window(before, offset or 0, WIDTH),
        after=None if after is None else window(after, (offset or 0) if after_offset is None else after_offset, WIDTH),
        conditions=conditions,
        char_offset=offset,
    )


def in_order(found: Iterable[CheckFinding]) -> tuple[CheckFinding, ...]:
    """Worst first, then by place."""
    rank = list(Level)

    def place(one: CheckFinding) -> tuple[int, str, int, str, int, str]:
        return rank.index(one.level), one.file, one.line, one.path, one.char_offset or 0, one.cause

    return tuple(sorted(found, key=place))
