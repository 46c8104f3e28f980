"""Text in front of a mark that looks as if it changed from call to call. Seen in one text alone, so never certain."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hitledger.causes.case import Confidence
from hitledger.check.findings import CheckFinding, Level, finding
from hitledger.check.material import Material
from hitledger.check.order import Spot
from hitledger.check.prefix_end import prefix_end
from hitledger.types import Tier

VOLATILE_NAMES = (
    r"(?:[\w.]*(?:now|date|time|today|weekday|uuid|guid|nonce|random|session|request|trace|run|conversation)[\w.]*"
    r"|[\w.]*(?:cwd|pwd|workdir|working_dir\w*|path|home|hostname|username|user)|(?:git|branch|commit|status)[\w.]*"
    r"|[\w.]*(?:count|counter|turn|step|attempt|iteration)[\w.]*)"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kind of volatile text looks like."""

    what: str
    cause: str
    confidence: Confidence
    pattern: re.Pattern[str]


def _shape(what: str, cause: str, confidence: Confidence, pattern: str, flags: int = 0) -> Shape:
    return Shape(what, cause, confidence, re.compile(pattern, flags | re.MULTILINE))


_I = re.IGNORECASE
SHAPES = (
    _shape("a time of day with its date", "system.volatile_time", Confidence.LIKELY, r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?\S{0,8}"),
    _shape(
        "today's date", "system.volatile_time", Confidence.LIKELY,
        r"\b(?:today|now|current (?:date|time)|date|time)\b[^\n]{0,20}?(?:\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{1,2}:\d\d"
        r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d{1,2})", _I,
    ),
    _shape("a UUID", "system.volatile_id", Confidence.LIKELY, r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", _I),
    _shape("a hash", "system.volatile_id", Confidence.POSSIBLE, r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{32,64}\b"),
    _shape("an id", "system.volatile_id", Confidence.LIKELY, r"\b(?:request|session|trace|conversation|run)[ _-]?id\b\W{1,4}\S*\d\S*", _I),
    _shape("a folder of one machine", "system.env_state", Confidence.POSSIBLE, r"(?<![\w/.])(?:/home/|/Users/|/tmp/|/var/folders/)[^\s\"'<>]+|\b[A-Z]:\\Users\\[^\s\"'<>]+"),
    _shape("the state of a work tree", "system.env_state", Confidence.LIKELY, r"^On branch \S+|^(?:Current branch|Git branch|Recent commits|HEAD)\s*:.*|^(?: [MD]|[MADRC] |\?\?) \S+[/.]\S+$"),
    _shape("a counter", "system.volatile_text", Confidence.LIKELY, r"\b(?:turn|request|attempt|iteration|call|message)s?\b\s*(?:#|no\.?|number|count|:)\s*:?\s*\d+", _I),
)  # fmt: skip
PLACEHOLDER = _shape(
    "a placeholder that is filled at each call", "system.volatile_text", Confidence.LIKELY,
    rf"\{{\{{-?\s*({VOLATILE_NAMES})\b[^{{}}\n]{{0,60}}\}}\}}|\$\{{({VOLATILE_NAMES})\}}|(?<![{{$])\{{({VOLATILE_NAMES})\}}(?!\}})|%\(({VOLATILE_NAMES})\)s",
    _I,
)  # fmt: skip
PLACEHOLDER_CAUSES = (
    ("system.volatile_time", re.compile(r"now|date|time|today|weekday", _I)),
    ("system.volatile_id", re.compile(r"uuid|guid|nonce|random|session|request|trace|run|conversation", _I)),
    ("system.env_state", re.compile(r"cwd|pwd|dir|path|home|host|user|git|branch|commit|status", _I)),
)


def suspects(material: Material) -> Iterator[tuple[CheckFinding, Spot]]:
    """Volatile-looking text in tools and system prompt, as far as it has to stay the same, and where it stands."""
    end = prefix_end(material)
    for index, segment in enumerate(material.prompt.own):
        if segment.tier is Tier.MESSAGES or not end.in_front(index) or not segment.text:
            continue
        taken: list[tuple[int, int]] = []
        for shape in (PLACEHOLDER, *SHAPES):
            for match in shape.pattern.finditer(segment.text):
                if any(start < match.end() and match.start() < stop for start, stop in taken):
                    continue
                taken.append(match.span())
                cause = _cause(shape, match) if segment.tier is Tier.SYSTEM else "tools.text_changed"
                found = finding(
                    material,
                    cause,
                    segment.path,
                    Level.WARNING,
                    shape.confidence,
                    offset=match.start(),
                    before=segment.text,
                    note=f"looks like {shape.what}: {match.group()[:60]}",
                )
                yield found, Spot(index, segment.path, *match.span(), of_segment=True)


def _cause(shape: Shape, match: re.Match[str]) -> str:
    if shape is not PLACEHOLDER:
        return shape.cause
    return next((cause for cause, words in PLACEHOLDER_CAUSES if words.search(match.group())), shape.cause)
