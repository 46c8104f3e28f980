"""What volatile text looks like. Every repetition has a bound, so that a hostile prompt costs no more than its length."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hitledger.causes.case import Confidence


@dataclass(frozen=True, slots=True)
class Match:
    """Text that looks volatile: what it looks like, its cause code, its characters."""

    what: str
    cause: str
    confidence: Confidence
    start: int
    end: int


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
        r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.? \d{1,2})", _I,
    ),
    _shape("a UUID", "system.volatile_id", Confidence.LIKELY, r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", _I),
    _shape("a hash", "system.volatile_id", Confidence.POSSIBLE, r"\b(?=[0-9a-f]{0,64}\d)(?=[0-9a-f]{0,64}[a-f])[0-9a-f]{32,64}\b"),
    _shape("an id", "system.volatile_id", Confidence.LIKELY, r"\b(?:request|session|trace|conversation|run)[ _-]?id\b\W{1,4}\S{0,60}?\d\S{0,60}", _I),
    _shape("a folder of one machine", "system.env_state", Confidence.POSSIBLE, r"(?<![\w/.])(?:/home/|/Users/|/tmp/|/var/folders/)[^\s\"'<>]+|\b[A-Z]:\\Users\\[^\s\"'<>]+"),
    _shape("the state of a work tree", "system.env_state", Confidence.LIKELY, r"^On branch \S+|^(?:Current branch|Git branch|Recent commits|HEAD)[ \t]{0,4}:.*|^(?: [MD]|[MADRC] |\?\?) (?=[^\s./]{0,100}[./])\S{1,200}[^\s/.]$"),
    _shape("a counter", "system.volatile_text", Confidence.LIKELY, r"\b(?:turn|request|attempt|iteration|call|message)s?\b\s{0,4}(?:#|no\.?|number|count|:)\s{0,4}:?\s{0,4}\d+", _I),
)  # fmt: skip
PLACEHOLDER = "a placeholder that is filled at each call"
PLACEHOLDERS = re.compile(
    r"\{\{-?\s{0,4}(?P<double>[\w.]{1,80})\b[^{}\n]{0,60}\}\}|\$\{(?P<shell>[\w.]{1,80})\}"
    r"|(?<![{$])\{(?P<single>[\w.]{1,80})\}(?!\})|%\((?P<percent>[\w.]{1,80})\)s"
)
NAMES = (  # of placeholders
    ("system.volatile_time", re.compile(r"now|date|time|today|weekday", _I)),
    ("system.volatile_id", re.compile(r"uuid|guid|nonce|random|session|request|trace|run|conversation", _I)),
    ("system.env_state", re.compile(r"(?:cwd|pwd|workdir|working_dir\w{0,40}|path|home|hostname|username|user)$|^(?:git|branch|commit|status)", _I)),
    ("system.volatile_text", re.compile(r"count|turn|step|attempt|iteration", _I)),
)  # fmt: skip


def volatile_matches(text: str) -> tuple[Match, ...]:
    """Volatile-looking text, first to last; where two shapes overlap, placeholders and the shapes listed first win."""
    taken = bytearray(len(text))
    found: list[Match] = []
    for match in _all(text):
        if not any(taken[match.start : match.end]):
            taken[match.start : match.end] = b"\1" * (match.end - match.start)
            found.append(match)
    return tuple(sorted(found, key=lambda match: match.start))


def _all(text: str) -> Iterator[Match]:
    for match in PLACEHOLDERS.finditer(text):
        name = match[match.lastgroup or 0]
        cause = next((cause for cause, words in NAMES if words.search(name)), None)
        if cause is not None:
            yield Match(PLACEHOLDER, cause, Confidence.LIKELY, *match.span())
    for shape in SHAPES:
        for match in shape.pattern.finditer(text):
            yield Match(shape.what, shape.cause, shape.confidence, *match.span())
