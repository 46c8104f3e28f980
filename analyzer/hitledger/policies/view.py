"""A prompt as a cache sees it: a hash and a length in tokens at every position, marks, parameters folded in."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b

import msgspec

from hitledger.policies.rule import Rule
from hitledger.types import Call, Prompt, Segment, Tier

# What stands in front: a content hash, or a transcript's prompt itself; and the parameters that count there.
EntryKey = tuple[bytes | Prompt, str]
ROOT = b"\0" * 16


class PrefixHashes:
    """Chained content hashes of prompts that extend no other: full prompts, and what stands at a transcript's root.

    The other prompts of a transcript share the very objects that they extend, so identity says what hashes would say,
    and their segments need not be looked at.
    """

    def __init__(self) -> None:
        self._hashes: dict[Prompt, list[bytes]] = {}

    def head(self, root: Prompt, salt: Mapping[Tier, str], whole_salt: str) -> EntryKey:
        """What an entry at the end of a prompt that extends no other is found by."""
        return (self.of(root)[-1], salt[root.own[-1].tier]) if root.own else (ROOT, whole_salt)

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


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A cache mark behind the first `position` segments."""

    position: int
    ttl: str


class Terms(msgspec.Struct, frozen=True, gc=False):
    """What a rule makes of a model and parameters."""

    rule: Rule
    salt: Mapping[Tier, str]  # the parameters that count for each tier
    whole_salt: str  # that of the last tier
    minimum: int  # tokens from which the model caches
    strips: bool  # whether earlier thinking is dropped


class View(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One call's prompt for a simulator. Positions count leading segments: 0 is nothing, `length` is all."""

    call: Call
    prompt: Prompt
    rule: Rule
    terms: Terms
    hashes: PrefixHashes
    tokens_at: Callable[[int], int]  # tokens of the first so many segments
    given: tuple[Mark, ...]  # marks that the request shows
    client_ttl: str | None  # of the marks that a transcript's client is taken to set; None: those given count
    at_ends: tuple[Mark, ...] | None  # where the rule writes at message ends; None: it writes at marks
    whole_salt: str  # of the last tier: looked up once, not at every step
    root: Prompt  # what the prompt begins with; itself where it extends no other
    head: EntryKey  # what an entry at the end of the root is found by

    @property
    def length(self) -> int:
        """Number of segments."""
        return self.prompt.length

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Cache marks, first to last.

        A transcript shows none. Its client is taken to mark the hidden part and the end of each prompt, with the
        lifetime that the usage says was written.
        """
        ttl, length, head = self.client_ttl, self.prompt.length, self.root.length
        if ttl is None:
            return self.given
        return (Mark(head, ttl), Mark(length, ttl)) if 0 < head < length else (Mark(length, ttl),)

    @property
    def written(self) -> tuple[Mark, ...]:
        """Where the request writes, first to last."""
        return self.marks if self.at_ends is None else self.at_ends

    def key(self, position: int) -> EntryKey:
        """What an entry at a position is found by: the content before it and the parameters that count there."""
        if self.prompt.base is None:
            if position == 0:
                return ROOT, ""
            segment = self.prompt.own[position - 1]
            return self.hashes.of(self.prompt)[position - 1], self.terms.salt[segment.tier]
        if position == self.prompt.length:
            return self.prompt, self.whole_salt
        if position == self.root.length:
            return self.head
        return next((key for end, key in self.ends() if end <= position), (ROOT, ""))

    def ends(self) -> Iterator[tuple[int, EntryKey]]:
        """Positions with their keys, longest first: all of them; in a transcript the ends of its calls' prompts."""
        if self.prompt.base is None:
            for position in range(self.prompt.length, 0, -1):
                yield position, self.key(position)
            return
        node: Prompt | None = self.prompt
        while node is not None:
            if node.length:
                yield node.length, (node, self.whole_salt) if node.base is not None else self.head
            node = node.base

    def segment(self, index: int) -> Segment:
        """One segment by its index."""
        for node in self.prompt.lineage():
            start = len(node) - len(node.own)
            if index >= start:
                return node.own[index - start]
        raise IndexError(index)
