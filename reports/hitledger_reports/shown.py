"""Text of a log as a report may show it: redacted, nothing invisible, on one line and of a bounded length.

An audit file comes from anywhere, so its texts are redacted again here, whatever the audit already did.
"""

from functools import lru_cache

from hitledger.redact import REACH, redact

NAME = 80  # characters of a name, an id or a model
PATH = 200
PROSE = 600
EXCERPT = 4_200  # a window as `audit --show-text` writes it, whole: a cut would fall on the difference


@lru_cache(maxsize=65_536)
def shown(text: str, limit: int = NAME, show_secrets: bool = False) -> str:
    """At most `limit` characters of `text`, `…` in the middle where it was longer."""
    if len(text) > limit + 2 * REACH:
        text = text[: limit + REACH] + text[-REACH:]
    line = redact(text, show_secrets).replace("\n", "⏎").replace("\t", "⇥")
    if len(line) <= limit:
        return line
    tail = limit // 3
    return line[: limit - tail - 1] + "…" + line[-tail:]
