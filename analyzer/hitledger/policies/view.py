"""A prompt as a cache sees it: a hash and a length in tokens at every position, marks, parameters folded in."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from hitledger.policies.rule import Rule
from hitledger.types import Call, Prompt, Segment, Tier

EntryKey = tuple[bytes, str]  # content hash, and the parameters that count there
ROOT = b"\0" * 16


class PrefixHashes:
    """Chained content hashes of full prompts; serial numbers for the prompts of a transcript.

    A transcript's prompts share the very objects that they extend, so identity says what hashes would say, and their
    segments need not be looked at. Only what stands at their root is hashed, so that sessions can share it.
    """

    def __init__(self) -> None:
        self._hashes: dict[Prompt, list[bytes]] = {}
        self._serials: dict[Prompt, bytes] = {}

    def of(self, prompt: Prompt) -> list[bytes]:
        """Hashes behind each segment of a prompt that extends no other."""
        found = self._hashes.get(prompt)
        if found is None:
            last = ROOT
            found = []
            for segment in prompt.own:
                last = blake2b(last + segment.digest, digest_size=16).digest()
                found.append(last)
            self._hashes[prompt] = found
        return found

    def node(self, prompt: Prompt) -> bytes:
        """What stands for a whole prompt of a transcript."""
        if prompt.base is None:
            return self.of(prompt)[-1] if prompt.own else ROOT
        found = self._serials.get(prompt)
        if found is None:
            found = self._serials[prompt] = len(self._serials).to_bytes(8, "big")
        return found


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
    salt: Mapping[Tier, str]
    whole_salt: str  # of the last tier: looked up once, not at every step
    minimum: int  # tokens from which the model caches
    root: Prompt  # what the prompt begins with; itself where it extends no other

    @property
    def length(self) -> int:
        """Number of segments."""
        return len(self.prompt)

    def key(self, position: int) -> EntryKey:
        """What an entry at a position is found by: the content before it and the parameters that count there."""
        if self.prompt.base is None:
            if position == 0:
                return ROOT, ""
            segment = self.prompt.own[position - 1]
            return self.hashes.of(self.prompt)[position - 1], self.salt[segment.tier]
        if position == len(self.root):
            return self._end(self.root)
        return next((key for end, key in self.ends() if end <= position), (ROOT, ""))

    def ends(self) -> Iterator[tuple[int, EntryKey]]:
        """Positions with their keys, longest first: all of them; in a transcript the ends of its calls' prompts."""
        if self.prompt.base is None:
            for position in range(len(self.prompt), 0, -1):
                yield position, self.key(position)
            return
        for node in self.prompt.lineage():
            if node.length:
                yield node.length, self._end(node)

    def _end(self, node: Prompt) -> EntryKey:
        if node.base is not None or not node.own:
            return self.hashes.node(node), self.whole_salt
        return self.hashes.node(node), self.salt[node.own[-1].tier]

    def segment(self, index: int) -> Segment:
        """One segment by its index."""
        for node in self.prompt.lineage():
            start = len(node) - len(node.own)
            if index >= start:
                return node.own[index - start]
        raise IndexError(index)
