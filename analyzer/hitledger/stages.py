"""How far the work on calls that were read has come: each stage goes over all of them."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Progress = Callable[[int, int], None]  # done, in all
STEP = 256  # items between two reports


class Stages:
    """Reports items done and items in all, over several stages of equally many items."""

    def __init__(self, report: Progress | None, items: int, stages: int) -> None:
        """`report` None: nobody watches, and nothing is counted."""
        self._report = report
        self._done = 0
        self._total = items * stages

    def over(self, items: Iterable[Item]) -> Iterable[Item]:
        """The items, one stage."""
        return items if self._report is None else self._counted(items, self._report)

    def _counted(self, items: Iterable[Item], report: Progress) -> Iterator[Item]:
        for item in items:
            yield item
            self._done += 1
            if self._done % STEP == 0 or self._done == self._total:
                report(self._done, self._total)
