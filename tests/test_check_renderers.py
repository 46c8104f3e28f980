"""Renderers with a fault in front of a mark and their twins without it; renderers that give no prompt."""

import os
from functools import cache
from pathlib import Path

import pytest

from hitledger.check.conditions import CONDITIONS, REFERENCE
from hitledger.check.findings import CheckFinding, Level
from hitledger.check.render import render
from hitledger.check.run import CheckOptions, check
from hitledger.check.runner import Place, RenderError
from hitledger.errors import HitledgerError, UsageError

FOLDER = Path(__file__).parent.parent / "fixtures" / "check" / "renderers"
ERROR, WARNING = Level.ERROR, Level.WARNING
SYSTEM = "system[0].text"
# module: (level, cause, path, a condition under which it shows; "" where it is seen in one text)
FAULTS = {
    "dates": (ERROR, "system.volatile_time", SYSTEM, "clock (a month later)"),
    "ids": (ERROR, "system.volatile_id", SYSTEM, "process"),
    "paths": (ERROR, "tools.text_changed", "tools[2].description", "working folder and git state"),
    "counters": (ERROR, "system.volatile_text", SYSTEM, "second call"),
    "gitstate": (ERROR, "system.env_state", SYSTEM, "working folder and git state"),
    "environment": (ERROR, "system.env_state", SYSTEM, "environment"),
    "sets": (ERROR, "system.volatile_text", SYSTEM, "hash seed"),
    "maps": (ERROR, "tools.key_order", "tools[2].input_schema.properties", "hash seed"),
    "toolorder": (ERROR, "tools.reordered", "tools[0]", "random seed"),
    "order": (ERROR, "system.volatile_time", SYSTEM, "time zone"),
    "behindvolatile": (ERROR, "breakpoint.on_volatile_tail", "messages[0].content[0].text", ""),
    "toomany": (ERROR, "breakpoint.too_many", "system[4].text", ""),
    "lifetimes": (ERROR, "breakpoint.ttl_order", "system[1].text", ""),
    "toofew": (WARNING, "breakpoint.missing", SYSTEM, ""),
    "belowminimum": (WARNING, "breakpoint.below_minimum", SYSTEM, ""),
    "farapart": (WARNING, "breakpoint.beyond_lookback", "messages[2].content[25].text", ""),
}


@cache
def findings(target: str) -> tuple[CheckFinding, ...]:
    result = check(CheckOptions(candidate=target, place=Place(FOLDER)))
    return tuple(one for one in result.all_findings if one.level is not Level.NOTE)


def test_every_module_is_tried() -> None:
    assert set(FAULTS) == {path.stem for path in FOLDER.glob("*.py")} - {"harbour", "failing"}


@pytest.mark.parametrize("module", FAULTS)
def test_fault_is_found_at_its_place_and_nothing_else(module: str) -> None:
    level, cause, path, condition = FAULTS[module]
    (found,) = findings(f"{module}:faulty")
    assert (found.level, found.cause, found.path, found.file) == (level, cause, path, f"{module}.py")
    assert condition in found.conditions or not (condition or found.conditions)
    source = (FOLDER / f"{module}.py").read_text().splitlines()
    assert source[found.line - 1].startswith("def faulty")


@pytest.mark.parametrize("module", FAULTS)
def test_mended_twin_passes(module: str) -> None:
    assert findings(f"{module}:mended") == ()


def test_only_the_condition_that_changed_it_is_named() -> None:
    (found,) = findings("dates:faulty")
    assert found.conditions == ("clock (a month later)",)
    assert (found.before, found.after) == (
        "Today is 2026-01-15.⏎You keep the ledger of a small ha…",
        "Today is 2026-02-17.⏎You keep the ledger of a small ha…",
    )


def test_the_move_says_what_would_be_saved() -> None:
    """The manual stands behind the clock: all of its tokens would stay readable."""
    move = check(CheckOptions(candidate="order:faulty", place=Place(FOLDER))).move
    assert move is not None
    assert (move.path, move.behind, move.start, move.end) == (SYSTEM, "system[1].text", 31, 36)
    assert move.tokens > 1_500


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("raises", "raises LookupError: no berth at failing.py:9"),
        ("hangs", "not done within 1 s"),
        ("spins", "not done within 1 s"),
        ("prints", "the renderer prints: 'Welcome"),
        ("exits", "the renderer exits (code 0)"),
        ("dies", "ends before it gives a prompt"),
        ("nothing", "gives null"),
        ("number", "gives int"),
        ("not_json", "not JSON: Object of type set"),
        ("missing", "has no attribute 'missing'"),
    ],
)
def test_a_renderer_that_gives_no_prompt_never_passes(function: str, message: str) -> None:
    seconds = 1 if message == "not done within 1 s" else 60  # a busy machine does not decide the others
    with pytest.raises(HitledgerError) as caught:
        check(CheckOptions(candidate=f"failing:{function}", place=Place(FOLDER, seconds=seconds)))
    assert message in str(caught.value)
    assert caught.value.exit_code in (1, 2)


@pytest.mark.parametrize(
    ("body", "message"),
    [("print(); return 'x' * 40", "prints"), ("return chr(0xD800) * 40", "not JSON")],
)
def test_less_usual_ways_to_give_no_prompt(tmp_path: Path, body: str, message: str) -> None:
    (tmp_path / "own.py").write_text(f"def f():\n    {body}\n")
    with pytest.raises(RenderError, match=message):
        render("own:f", Place(tmp_path), CONDITIONS[:1])


def test_failing_under_one_condition_only_is_a_failure_too(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import os\ndef f():\n    if os.environ.get('USER') == 'hitledger-check': raise OSError('gone')\n    return 'x' * 40\n"
    )
    with pytest.raises(RenderError, match=r"raises OSError: gone at own.py:3 \(environment changed\)"):
        render("own:f", Place(tmp_path))


def test_module_that_is_not_there() -> None:
    with pytest.raises(RenderError, match="No module named 'nowhere'"):
        render("nowhere:f", Place(FOLDER))
    with pytest.raises(UsageError, match="give module:function"):
        render("nowhere", Place(FOLDER))


def test_relative_reads_work_in_the_other_working_folder(tmp_path: Path) -> None:
    (tmp_path / "system.md").write_text("You keep the ledger of a small harbour.")
    (tmp_path / "own.py").write_text("from pathlib import Path\ndef f():\n    return Path('system.md').read_text()\n")
    found = render("own:f", Place(tmp_path))
    assert {one.value for one in found.others} == {found.reference}
    assert [one.condition for one in found.others] == ["second call", *(one.name for one in CONDITIONS)]
    assert (found.file, found.line) == ("own.py", 2)


def test_conditions_change_one_thing_each() -> None:
    fields = ("time", "zone", "seed", "hash_seed", "elsewhere", "host")
    for condition in CONDITIONS[1:]:
        changed = [name for name in fields if getattr(condition, name) != getattr(REFERENCE, name)]
        assert len(changed) == 1, condition


def test_a_renderer_does_not_reach_into_this_process(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import os\ndef f():\n    os.environ['REACHED'] = '1'\n    return 'You keep the ledger.'\n"
    )
    render("own:f", Place(tmp_path), CONDITIONS[:1])
    assert "REACHED" not in os.environ
