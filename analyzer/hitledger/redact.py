"""What may be shown of a prompt: secrets replaced by their kind, and nothing invisible or able to steer a terminal."""

import re
from collections.abc import Iterator

from msgspec import Struct

from hitledger.secret_shapes import SHAPES

# A window is cut out of this much text on either side, so that a secret which the cut would halve is still seen whole.
REACH = 20_000

# C0 and C1 controls, soft hyphen, marks that are invisible or turn the direction of writing, tag characters and
# variation selectors of the supplement (used to smuggle text), lone surrogates. Tab and line feed may stay.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_HINTS = tuple(dict.fromkeys(hint for shape in SHAPES for hint in shape.hints))
_ON_ONE_LINE = str.maketrans({"\n": "⏎", "\t": "⇥"})


class _Span(Struct, frozen=True):
    start: int
    end: int
    name: str


def redact(text: str, show_secrets: bool = False) -> str:
    """The text with each secret replaced by `[redacted KIND]` and control characters made visible.

    Applied twice it gives the same text. Line feeds and tabs stay. Linear in the length of the text.
    """
    return visible(text if show_secrets else _cover(text, 0, len(text)))


def window(text: str, offset: int, width: int = 40, show_secrets: bool = False) -> str:
    """One line of at most `width` characters on either side of `offset`, redacted; `…` where text was left out.

    Secrets are looked for before the cut, so that no half of one is shown. Line feeds become ⏎ and tabs ⇥.
    """
    offset = min(max(offset, 0), len(text))
    first, last = max(offset - REACH, 0), min(offset + REACH, len(text))
    near = text[first:last]
    start, end = max(offset - width, 0), min(offset + width, len(text))
    shown = near[start - first : end - first] if show_secrets else _cover(near, start - first, end - first)
    left, right = "…" if start > 0 else "", "…" if end < len(text) else ""
    return left + visible(shown).translate(_ON_ONE_LINE) + right


def visible(text: str) -> str:
    """Control characters, ANSI escapes and bidirectional marks as something that can be seen and does nothing."""
    return _UNSEEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # the Unicode block "Control Pictures"
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _cover(text: str, start: int, end: int) -> str:
    """text[start:end] with each secret that reaches into it replaced by its kind."""
    parts: list[str] = []
    position = start
    for span in _secrets(text):
        if span.end <= start or span.start >= end:
            continue
        parts += (text[position : span.start], f"[redacted {span.name}]")
        position = span.end
    return "".join(parts) + text[position:end]


def _secrets(text: str) -> Iterator[_Span]:
    """Secrets in the order they stand, none reaching into another."""
    lower = text.lower()
    if not any(map(lower.__contains__, _HINTS)):  # nearly no text holds any
        return
    found: list[_Span] = []
    for shape in SHAPES:
        if any(hint in lower for hint in shape.hints):
            pattern = shape.pattern
            group = pattern.groups
            found += (_Span(match.start(group), match.end(group), shape.name) for match in pattern.finditer(text))
    end = 0
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if span.start >= end:
            yield span
            end = span.end
