"""What an engine's published rule makes readable, computed without the pool: a trie of whole blocks.

The rule (vLLM): whole blocks from the front, at most (n - 1) // block_size of them, of any earlier prompt and its
computed reply under the same partition. With a policy, blocks that nobody used for its lifetime are gone, and prompts
below the minimum leave nothing. No hashes, no block ids, no queue: nothing is shared with what is measured.
"""

from dataclasses import dataclass, field

from hitledger_replay.blocks import blocks_for
from hitledger_replay.sessions.plan import PlannedCall


@dataclass(slots=True, eq=False)
class _Node:
    used: float
    children: dict[tuple[int, ...], "_Node"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expectation:
    """`left_tokens` are what the call leaves readable, in whole blocks; `new_blocks` are those it had to store."""

    cached_tokens: int
    left_tokens: int
    new_blocks: int


class ExpectedReads:
    """Unlimited room: the replay asks for as many blocks as all calls together need."""

    def __init__(self, block_size: int, lifetime: float | None = None) -> None:
        """`lifetime` in seconds, None for ever."""
        self._size = block_size
        self._lifetime = lifetime
        self._roots: dict[str, _Node] = {}

    def next(self, call: PlannedCall) -> Expectation:
        """The call that comes next in time."""
        root = self._roots.setdefault(call.partition, _Node(call.at))
        tokens = (*call.prompt, *call.reply[:-1])
        cached = self._cached(root, call)
        stores = len(call.prompt) >= call.minimum
        left = self._store(root, tokens, call.at, stores)
        return Expectation(cached * self._size, left * self._size, blocks_for(len(tokens), self._size) - cached)

    def _cached(self, root: _Node, call: PlannedCall) -> int:
        node, blocks = root, 0
        for start in range(0, (len(call.prompt) - 1) // self._size * self._size, self._size):
            found = node.children.get(call.prompt[start : start + self._size])
            if found is None or self._expired(found, call.at):
                break
            node, blocks = found, blocks + 1
        return blocks

    def _store(self, root: _Node, tokens: tuple[int, ...], now: float, stores: bool) -> int:
        node, blocks = root, 0
        for start in range(0, len(tokens) - self._size + 1, self._size):
            key = tokens[start : start + self._size]
            found = node.children.get(key)
            if found is None or self._expired(found, now):
                if not stores:
                    break
                found = node.children[key] = _Node(now, found.children if found is not None else {})
            found.used = now
            node, blocks = found, blocks + 1
        return blocks

    def _expired(self, node: _Node, now: float) -> bool:
        return self._lifetime is not None and node.used < now - self._lifetime
