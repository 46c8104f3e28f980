"""What docs/check.md says is what `hitledger check` does."""

import re
import tomllib
from pathlib import Path

import msgspec
from typer.main import get_command

from hitledger.check.conditions import CONDITIONS
from hitledger.check.limits import Settings
from hitledger_reports.cli import app

PAGE = (Path(__file__).parent.parent / "docs" / "check.md").read_text(encoding="utf-8")


def test_every_flag_that_is_named_exists_and_every_limit_is_named() -> None:
    options = {name for part in get_command(app).commands["check"].params for name in part.opts}  # type: ignore[attr-defined]
    named = set(re.findall(r"--[a-z][a-z-]+", PAGE))
    assert named <= options
    limits = {name for name in options if name.startswith(("--max-", "--no-"))}
    assert limits <= named | {f"--{key}" for key in table()}


def table() -> dict[str, object]:
    text = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert text is not None
    found: dict[str, object] = tomllib.loads(text[1])["tool"]["hitledger"]["check"]
    return found


def test_the_settings_shown_are_all_there_are() -> None:
    settings = msgspec.convert(table(), Settings)
    assert settings.limits().need_traffic
    assert set(table()) == {name.replace("_", "-") for name in Settings.__struct_fields__}


def test_every_condition_is_named() -> None:
    words = {"process", "clock", "time zone", "random", "hash", "working folder and git state", "environment"}
    assert {condition.name for condition in CONDITIONS} == {name for name in (c.name for c in CONDITIONS) if any(word in name for word in words)}  # fmt: skip
    assert all(word in " ".join(PAGE.split()) for word in words)


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 100
