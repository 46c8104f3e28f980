"""The calls of an audit as rows that are made when somebody looks at one.

A report in the terminal needs sums and few rows, a file needs every row: both come from the same columns.
"""

from collections.abc import Iterator, Sequence
from typing import Any, overload

from hitledger.call_columns import Judged
from hitledger.columns import Table
from hitledger.results import CallResult


class CallTable(Table[CallResult]):
    """The rows of some calls of a run, in input order."""

    def __init__(self, judged: Judged) -> None:
        self._judged = judged
        self._rows: tuple[CallResult, ...] | None = None

    def column(self, name: str) -> Sequence[Any]:
        """One field of each row."""
        return self._judged.column(name)

    def part(self, indices: Sequence[int]) -> "CallTable":
        """Some of the rows, by ascending indices."""
        return CallTable(self._judged.part(indices))

    def rows(self) -> tuple[CallResult, ...]:
        """All rows, made once."""
        if self._rows is None:
            self._rows = tuple(map(CallResult, *map(self.column, CallResult.__struct_fields__)))
        return self._rows

    def __len__(self) -> int:
        return len(self._judged.links)

    def __iter__(self) -> Iterator[CallResult]:
        return iter(self.rows())

    @overload
    def __getitem__(self, index: int) -> CallResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[CallResult, ...]: ...
    def __getitem__(self, index: int | slice) -> CallResult | tuple[CallResult, ...]:
        """One row is made by itself; of several all are."""
        if self._rows is not None or isinstance(index, slice):
            return self.rows()[index]
        (row,) = self.part((range(len(self))[index],)).rows()
        return row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.rows() == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # rows hold dicts
