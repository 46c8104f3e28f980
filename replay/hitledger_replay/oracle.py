"""What a prefix cache must find, recomputed naively. Shares no code with the pool: no hashes, no queues, no ids.

A list of stored blocks, each with its tokens, the block in front of it and when it was last used; every question is
answered by looking at all of it. One sequence at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Stored:
    """One block on the device. `number` is the place in the trie; copies of one content have the same."""

    number: int
    depth: int
    used: int


class Oracle:
    """`capacity` in blocks, None for no limit. Give each sequence to `run`, in order; it returns the hit tokens."""

    def __init__(self, block_size: int, capacity: int | None = None) -> None:
        self._size = block_size
        self._capacity = capacity
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._stored: list[Stored] = []
        self._clock = 0

    def expected_hit(self, prompt: Sequence[int]) -> int:
        """Tokens of `prompt` that are stored in whole blocks from its front, its last token excepted."""
        hit = 0
        for number in self._path(prompt[:-1]):
            if not any(block.number == number for block in self._stored):
                break
            hit += self._size
        return hit

    def run(self, prompt: Sequence[int], generated: Sequence[int] = ()) -> int:
        """Look `prompt` up, compute the rest, append `generated` (all of it computed), and let the sequence go.

        Blocks that the cap n - 1 forbids to use are stored a second time, as an engine without deduplication does.
        Raises ValueError if the sequence alone is larger than the capacity.
        """
        held = -(-(len(prompt) + len(generated)) // self._size)
        if self._capacity is not None and held > self._capacity:
            raise ValueError(f"a sequence of {held} blocks does not fit an oracle of {self._capacity}")
        hit = self.expected_hit(prompt)
        self._clock += 1
        tokens = [*prompt, *generated]
        path = self._path(tokens)
        mine = [self._first(number) for number in path[: hit // self._size]]
        self._make_room(held - len(mine), mine)
        mine += [Stored(number, depth, 0) for depth, number in enumerate(path)][len(mine) :]
        self._stored += [block for block in mine if block not in self._stored]
        for block in mine:
            block.used = self._clock
        return hit

    def _path(self, tokens: Sequence[int]) -> list[int]:
        """The trie numbers of the full blocks of `tokens`."""
        path: list[int] = []
        for start in range(0, len(tokens) - self._size + 1, self._size):
            edge = (path[-1] if path else -1, tuple(tokens[start : start + self._size]))
            path.append(self._numbers.setdefault(edge, len(self._numbers)))
        return path

    def _first(self, number: int) -> Stored:
        return next(block for block in self._stored if block.number == number)

    def _make_room(self, num_new: int, mine: list[Stored]) -> None:
        """Remove the least recently used blocks, of equals the deepest, until `num_new` more fit."""
        if self._capacity is None:
            return
        while len(self._stored) + num_new > self._capacity:
            others = [block for block in self._stored if block not in mine]
            self._stored.remove(min(others, key=lambda block: (block.used, -block.depth)))
