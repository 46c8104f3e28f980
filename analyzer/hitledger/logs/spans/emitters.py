"""Whether a writer of spans counts cached tokens inside its input figure: decided per emitter, from its own figures.

The OTel conventions ask for the inclusive figure and not all writers follow. A figure smaller than its parts, or a
logged total, proves one or the other; what one span proves holds for every span of the same emitter.
"""

from collections.abc import Mapping
from typing import Any

from hitledger.logs.spans.span import Span
from hitledger.usage_fields import Part, name_of

Key = tuple[str, str]


# A span can hold the provider's own usage object: its names say what they mean, and nothing about the span's writer.
OWN_NAMES = frozenset({"input_tokens", "prompt_tokens", "prompt_token_count", "inputTokens", "promptTokenCount"})


class Emitters:
    """What is known of each emitter's convention."""

    def __init__(self) -> None:
        self._proofs: dict[Key, set[bool]] = {}

    def add(self, span: Span, usage: Mapping[str, Any]) -> None:
        """Take in the figures of one call."""
        proof = _proof(usage)
        if proof is not None:
            self._proofs.setdefault(_key(span), set()).add(proof)

    def inclusive(
        self, span: Span, usage: Mapping[str, Any], usual: bool | None = None
    ) -> tuple[bool | None, tuple[str, ...]]:
        """The emitter's convention, None where the names of the figures say it; and a note where it is assumed.

        `usual` is the convention that the format documents.
        """
        if OWN_NAMES & usage.keys():
            return None, ()
        proofs = self._proofs.get(_key(span), set())
        if len(proofs) == 1:
            return next(iter(proofs)), ()
        if proofs:  # it proved both: each call by itself
            return _proof(usage), ()
        parts = _parts(usage)
        if usual is not None or not parts.get(Part.READ, 0) + parts.get(Part.WRITE, 0):
            return usual, ()
        if any("details." in name.lower() for name in usage):
            return None, ()
        return True, ("input_convention_assumed",)


def _key(span: Span) -> Key:
    return span.scope, span.text("gen_ai.provider.name", "gen_ai.system", "ai.model.provider", "llm.provider")


def _parts(usage: Mapping[str, Any]) -> dict[Part, int]:
    found: dict[Part, int] = {}
    for name, value in usage.items():
        number = (
            int(value) if isinstance(value, int | str) and str(value).isdecimal() and len(str(value)) < 13 else None
        )
        if number is not None:
            part = name_of(name).part
            found[part] = max(found.get(part, 0), number)
    return found


def _proof(usage: Mapping[str, Any]) -> bool | None:
    if OWN_NAMES & usage.keys():
        return None
    parts = _parts(usage)
    cached = parts.get(Part.READ, 0) + parts.get(Part.WRITE, 0)
    given = parts.get(Part.INPUT)
    if given is None or not cached:
        return None
    if given < cached:
        return False
    total, output = parts.get(Part.TOTAL), parts.get(Part.OUTPUT)
    if total is None or output is None:
        return None
    if total == given + output:
        return True
    return False if total == given + output + cached else None
