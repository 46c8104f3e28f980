"""Call a renderer under every condition, each in a process of its own with a time limit. It never passes by failing."""

import re
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hitledger.check.conditions import AGAIN, CONDITIONS, REFERENCE, Condition
from hitledger.check.runner import Place, RenderError, Runner
from hitledger.errors import UsageError

PROCESSES = 4
TARGET = re.compile(r"(?:[A-Za-z_][\w.]*|.+\.py):[A-Za-z_][\w.]*")


@dataclass(frozen=True, slots=True)
class Render:
    """What a renderer gave under one condition."""

    condition: str
    value: Any  # parsed JSON, keys in the order given


@dataclass(frozen=True, slots=True)
class Renders:
    """The reference and all that should have been equal to it; where the function stands."""

    target: str
    reference: Any
    others: tuple[Render, ...]
    file: str
    line: int


def is_target(text: str) -> bool:
    """Whether a text names a renderer: `module:function` or `file.py:function`."""
    return TARGET.fullmatch(text) is not None


def render(target: str, place: Place, conditions: Sequence[Condition] = CONDITIONS) -> Renders:
    """Render under the reference and all conditions. Raises RenderError, UsageError."""
    if not is_target(target):
        raise UsageError(f"{target}: give module:function")
    with tempfile.TemporaryDirectory(prefix="hitledger-check-", ignore_cleanup_errors=True) as scratch:
        runner = Runner(target, place, Path(scratch))
        try:
            first = runner.run(0, REFERENCE)
            with ThreadPoolExecutor(PROCESSES) as pool:
                answers = list(pool.map(runner.run, range(1, len(conditions) + 1), conditions))
        except OSError as error:
            raise RenderError(f"{target}: cannot be run: {error}") from error
    reference, again = (runner.value(0, REFERENCE, text) for text in first.values)
    others = [Render(AGAIN, again)]
    for number, (condition, answer) in enumerate(zip(conditions, answers, strict=True), 1):
        others.append(Render(condition.name, runner.value(number, condition, answer.values[0])))
    return Renders(target, reference, tuple(others), _shown(first.file, place), first.line)


def _shown(file: str, place: Place) -> str:
    """Relative to the project where it lies in it: no absolute path gets into a result."""
    try:
        return str(Path(file).resolve().relative_to(place.folder.resolve()))
    except ValueError:
        return Path(file).name
