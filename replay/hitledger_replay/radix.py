"""Prefix reuse token by token: a radix tree over token ids, least recently used leaves evicted (SGLang's page size 1).

The bound on what any block size could have reused. The difference to a block pool's hit is the price of whole blocks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Node:
    """A stretch of tokens behind its parent. `used` is the time of the last use."""

    tokens: tuple[int, ...] = ()
    parent: "Node | None" = None
    children: dict[int, "Node"] = field(default_factory=dict)
    used: int = 0


class RadixIndex:
    """`capacity` in tokens, None for no limit."""

    def __init__(self, capacity: int | None = None) -> None:
        self._root = Node()
        self._capacity = capacity
        self._clock = 0
        self.num_tokens = 0

    def match(self, token_ids: Sequence[int]) -> int:
        """How many tokens from the front are in the tree. Changes nothing."""
        return sum(shared for _, shared in self._walk(token_ids))

    def insert(self, token_ids: Sequence[int]) -> int:
        """Use the prefix that is there, add the rest and return how many tokens were there.

        With a capacity, least recently used leaves go first; a sequence that does not fit is stored as far as it does.
        """
        self._clock += 1
        node, found = self._root, 0
        for step, shared in list(self._walk(token_ids)):
            node = step if shared == len(step.tokens) else self._split(step, shared)
            node.used = self._clock
            found += shared
        rest = tuple(token_ids[found:])
        if self._capacity is not None:
            self._evict(self._capacity - len(rest))
            rest = rest[: max(0, self._capacity - self.num_tokens)]
        if rest:
            node.children[rest[0]] = Node(rest, node, used=self._clock)
            self.num_tokens += len(rest)
        return found

    def _walk(self, token_ids: Sequence[int]) -> Iterator[tuple[Node, int]]:
        """(node, tokens shared with it) along `token_ids`; only the last node may be shared in part."""
        node, position = self._root, 0
        while position < len(token_ids) and token_ids[position] in node.children:
            node = node.children[token_ids[position]]
            shared = _common(node.tokens, token_ids, position)
            yield node, shared
            position += shared
            if shared < len(node.tokens):
                return

    def _split(self, node: Node, length: int) -> Node:
        """Cut `node` after `length` tokens; returns the front part."""
        assert node.parent is not None, "the root has no tokens to split"
        front = Node(node.tokens[:length], node.parent, used=node.used)
        front.parent.children[front.tokens[0]] = front  # type: ignore[union-attr]
        node.tokens, node.parent = node.tokens[length:], front
        front.children[node.tokens[0]] = node
        return front

    def _evict(self, room: int) -> None:
        """Remove leaves that this insertion did not use, oldest first, until at most `room` tokens are left."""
        while self.num_tokens > room:
            leaves = [node for node in self._nodes() if not node.children and node.used < self._clock]
            if not leaves:
                return
            oldest = min(leaves, key=lambda node: node.used)
            assert oldest.parent is not None, "the root is no leaf here"
            del oldest.parent.children[oldest.tokens[0]]
            self.num_tokens -= len(oldest.tokens)

    def _nodes(self) -> Iterator[Node]:
        stack = list(self._root.children.values())
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            yield node


def _common(tokens: Sequence[int], others: Sequence[int], start: int) -> int:
    length = 0
    while length < len(tokens) and start + length < len(others) and tokens[length] == others[start + length]:
        length += 1
    return length
