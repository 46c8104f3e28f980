"""Sums of a changing column over a range, in logarithmic time (Fenwick, 1994)."""


class SuffixSums:
    """`size` counters, all 0."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._tree = [0] * (size + 1)

    def add(self, index: int, amount: int) -> None:
        """Change one counter."""
        node = self._size - index
        while node <= self._size:
            self._tree[node] += amount
            node += node & -node

    def above(self, index: int) -> int:
        """The sum of the counters behind `index`."""
        node, total = self._size - index - 1, 0
        while node > 0:
            total += self._tree[node]
            node &= node - 1
        return total
