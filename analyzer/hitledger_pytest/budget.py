"""`prefix_budget.check`: run a check and fail the test where a rule fails."""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hitledger.check.limits import Settings, settings_in
from hitledger.check.result import CheckResult
from hitledger.check.run import CheckOptions, check
from hitledger.check.runner import SECONDS, Place
from hitledger.check.traffic import TrafficOptions
from hitledger.errors import HitledgerError, UsageError

Renderer = Callable[[], Any] | str | Path


class PrefixBudget:
    """Checks against the settings of the project's pyproject.toml, where a test says nothing else."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def check(
        self,
        render: Renderer,
        *,
        baseline: Renderer | None = None,
        logs: str | Path | tuple[str | Path, ...] = (),
        max_hit_rate_drop: str | float | None = None,
        max_cost_increase: str | None = None,
        max_one_off_cost: str | float | None = None,
        max_added_tokens: float | None = None,
        no_volatile_prefix: bool = False,
        no_bad_marks: bool = False,
        seconds: float | None = None,
    ) -> CheckResult:
        """Fail the test unless the prefix is stable and every limit is kept; give the result.

        `render` and `baseline` are functions at the top of a module that take no arguments and give a system prompt, a
        list of tools or a request body; or what `hitledger check` takes: a file, a folder, `git:REV:PATH`,
        `module:function`. The function runs in processes of its own, so what a test has changed is not seen there.
        """
        given = (logs,) if isinstance(logs, str | Path) else logs
        flags = Settings(
            logs=tuple(str(log) for log in given),
            max_hit_rate_drop=max_hit_rate_drop,
            max_cost_increase=max_cost_increase,
            max_one_off_cost=max_one_off_cost,
            max_added_tokens=max_added_tokens,
            no_volatile_prefix=no_volatile_prefix,
            no_bad_marks=no_bad_marks,
            render_timeout=seconds,
        )
        try:
            settings = flags.over(settings_in(self._root))
            result = check(self._options(render, baseline, settings))
        except HitledgerError as error:
            reason = str(error)
        else:
            if result.passed:
                return result
            reason = failure(result)
        pytest.fail(reason, pytrace=False)  # outside the handler, which would show the error twice

    def _options(self, render: Renderer, baseline: Renderer | None, settings: Settings) -> CheckOptions:
        return CheckOptions(
            baseline=None if baseline is None else target_of(baseline),
            candidate=target_of(render),
            logs=settings.logs,
            limits=settings.limits(),
            known=settings.known,
            traffic=TrafficOptions(calls_per_day=settings.calls_per_day),
            place=Place(self._root, tuple(filter(None, sys.path)), settings.render_timeout or SECONDS),
        )


def target_of(render: Renderer) -> str:
    """A function as `file.py:function`, since a test's module may have no name to import it by. Raises UsageError."""
    if isinstance(render, str | Path):
        return str(render)
    name = getattr(render, "__qualname__", "")
    file = inspect.getsourcefile(render) if inspect.isfunction(render) else None
    if not name or file is None or "<" in name:
        raise UsageError(
            f"{name or render!r}: give a function at the top of a module, since it runs in another process"
        )
    in_package = Path(file).with_name("__init__.py").is_file()
    return f"{render.__module__}:{name}" if in_package else f"{file}:{name}"


def failure(result: CheckResult) -> str:
    """What failed, and where."""
    lines = [f"prefix budget of {result.candidate}:"]
    lines += [f"  {rule}" for rule in result.rules if not rule.passed]
    for one in result.open:
        lines.append(f"  {one.cause} at {one.file}:{one.line} {one.path}")
        if one.conditions:
            lines.append(f"    changes with: {', '.join(one.conditions)}")
        lines += [f"    {sign} {text}" for sign, text in (("-", one.before), ("+", one.after)) if text is not None]
        lines += [f"    {text}" for text in (one.note, one.fix) if text]
    return "\n".join(lines)
