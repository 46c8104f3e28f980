"""Bars on stderr with the time left, on a terminal only, while a person waits."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from hitledger.stages import Progress


@contextmanager
def reading(quiet: bool) -> Iterator[tuple[Progress | None, Progress | None]]:
    """Bytes read, and then steps over the calls that were found."""
    with _bars(quiet, "reading", "judging") as (read, judged):
        yield read, judged


@contextmanager
def replaying(quiet: bool) -> Iterator[Progress | None]:
    """Calls replayed."""
    with _bars(quiet, "replaying") as (replayed,):
        yield replayed


@contextmanager
def drawing(quiet: bool) -> Iterator[Progress | None]:
    """Pages of the report."""
    with _bars(quiet, "drawing") as (drawn,):
        yield drawn


@contextmanager
def _bars(quiet: bool, *names: str) -> Iterator[tuple[Progress | None, ...]]:
    """A bar each, seen from its first step on; None where nobody watches."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():  # None: started with it closed
        yield (None,) * len(names)
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        tasks = [shown.add_task(name, total=None, start=False, visible=False) for name in names]

        def step(number: int, done: int, total: int) -> None:
            if not shown.tasks[number].started:
                shown.start_task(tasks[number])
            shown.update(tasks[number], completed=done, total=total, visible=True)

        yield tuple(partial(step, number) for number in range(len(names)))
