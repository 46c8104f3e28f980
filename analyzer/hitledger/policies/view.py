"""A prompt as a cache sees it: a hash and a length in tokens at every position, marks, parameters folded in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from hitledger.policies.rules import Rule, salts
from hitledger.types import Call, Evidence, Prompt, Segment, Tier

ROOT = b"\0" * 16


class PrefixHashes:
    """Chained content hashes of prompts. A shared base is hashed once, so a transcript stays linear."""

    def __init__(self) -> None:
        self._nodes: dict[Prompt, list[bytes]] = {}

    def at(self, prompt: Prompt, position: int) -> bytes:
        """Hash over the first `position` segments."""
        if position == 0:
            return ROOT
        for node in prompt.lineage():
            start = len(node) - len(node.own)
            if position > start:
                return self.own(node)[position - start - 1]
        raise IndexError(position)

    def own(self, node: Prompt) -> list[bytes]:
        """Hashes behind each of a node's own segments."""
        found = self._nodes.get(node)
        if found is not None:
            return found
        missing = [node]
        for ancestor in node.lineage():
            if ancestor is not node:
                if ancestor in self._nodes:
                    break
                missing.append(ancestor)
        for part in reversed(missing):
            base = part.base
            last = self._nodes[base][-1] if base is not None and self._nodes[base] else self._last_hash(base)
            hashes: list[bytes] = []
            for segment in part.own:
                last = blake2b(last + segment.digest, digest_size=16).digest()
                hashes.append(last)
            self._nodes[part] = hashes
        return self._nodes[node]

    def _last_hash(self, prompt: Prompt | None) -> bytes:
        """The hash at the end of a prompt whose own part is empty."""
        for node in prompt.lineage() if prompt is not None else ():
            if self._nodes.get(node):
                return self._nodes[node][-1]
        return ROOT


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache mark behind the first `position` segments."""

    position: int
    ttl: str


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One call's prompt for a simulator. Positions count leading segments: 0 is nothing, `length` is all."""

    call: Call
    prompt: Prompt
    rule: Rule
    hashes: PrefixHashes
    tokens_at: Callable[[int], int]  # tokens of the first so many segments
    marks: tuple[Mark, ...]
    salt: dict[Tier, str]

    @property
    def length(self) -> int:
        """Number of segments."""
        return len(self.prompt)

    def key(self, position: int) -> tuple[bytes, str]:
        """What an entry at a position is found by: the content before it and the parameters that count there."""
        segment = self.segment(position - 1) if position else None
        return self.hashes.at(self.prompt, position), self.salt[segment.tier] if segment else ""

    def ends(self) -> Iterator[tuple[int, tuple[bytes, str]]]:
        """Positions with their keys, longest first: all of them, in a transcript the ends of its calls' prompts."""
        for node in self.prompt.lineage():
            if not node.own:
                continue
            hashes = self.hashes.own(node)
            first = len(node.own) if self.call.evidence is Evidence.RECONSTRUCTED else 1
            for count in range(len(node.own), first - 1, -1):
                salt = self.salt[node.own[count - 1].tier]
                yield len(node) - len(node.own) + count, (hashes[count - 1], salt)

    def segment(self, index: int) -> Segment:
        """One segment by its index."""
        for node in self.prompt.lineage():
            start = len(node) - len(node.own)
            if index >= start:
                return node.own[index - start]
        raise IndexError(index)


def view_of(
    call: Call, prompt: Prompt, rule: Rule, hashes: PrefixHashes, tokens_at: Callable[[int], int], marks: Sequence[Mark]
) -> View:
    """Put a call's prompt, already in the rule's order, together with what the rule says of its parameters."""
    return View(call, prompt, rule, hashes, tokens_at, tuple(marks), dict(salts(rule, call)))
