"""The pytest plugin, in projects of its own; also in one whose packages are called `reports` and `analyzer`."""

from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

TRAFFIC = Path(__file__).parent.parent / "fixtures" / "check" / "traffic"
STABLE = """
def stable():
    return [{"name": "a", "input_schema": {}}, {"name": "b", "input_schema": {}}]

def unstable():
    import uuid
    return f"You keep the ledger of a small harbour. Your number is {uuid.uuid4()}."
"""


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """In a process of its own, where the plugin is loaded as it is in anyone's project: by its entry point."""
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def test_a_stable_renderer_passes_and_an_unstable_one_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        STABLE
        + """
def test_stable(prefix_budget):
    result = prefix_budget.check(stable)
    assert result.passed

def test_unstable(prefix_budget):
    prefix_budget.check(unstable)
"""
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*stable-prefix: 1, limit 0 findings",
            "*system.volatile_id at test_*.py:* system",
            "*changes with: second call, process",
        ]
    )


def test_a_change_within_and_over_a_budget(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
FOLDER = {str(TRAFFIC)!r}

def old():
    return open(FOLDER + "/system.md").read()

def new():
    return open(FOLDER + "/system-1500.md").read()

def test_within(prefix_budget):
    found = prefix_budget.check(new, baseline=old, logs=FOLDER + "/anthropic.jsonl", max_cost_increase="10%")
    assert str(found.one_off_cost) == "0.006038"

def test_over(prefix_budget):
    prefix_budget.check(FOLDER + "/system-1500.md", baseline=FOLDER + "/system.md", logs=FOLDER + "/anthropic.jsonl",
                        max_added_tokens=299)
"""
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*max-added-tokens: 300.000000, limit 299 tokens a call"])


def test_limits_of_the_projects_own_settings(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.hitledger.check]\nno-volatile-prefix = true\n")
    (pytester.path / "system.md").write_text("You keep the ledger.\nToday is 2026-05-04.\n")
    pytester.makepyfile("def test_prompt(prefix_budget):\n    prefix_budget.check('system.md')\n")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no-volatile-prefix: 1, limit 0 findings"])


@pytest.mark.parametrize(
    ("body", "seconds", "message"),
    [
        ("raise LookupError('no berth')", 60, "*raises LookupError: no berth*"),
        ("import time; time.sleep(60)", 1, "*not done within 1 s*"),
    ],
)
def test_a_renderer_that_gives_no_prompt_fails_the_test(
    pytester: pytest.Pytester, body: str, seconds: int, message: str
) -> None:
    pytester.makepyfile(
        f"def render():\n    {body}\n\ndef test_it(prefix_budget):\n    prefix_budget.check(render, seconds={seconds})\n"
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*During handling of the above exception*")


def test_a_function_inside_a_test_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(prefix_budget):\n    prefix_budget.check(lambda: 'You keep the ledger.')\n")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*give a function at the top of a module*"])


def test_beside_packages_called_reports_and_analyzer(pytester: pytest.Pytester) -> None:
    for name in ("reports", "analyzer", "replay"):
        folder = pytester.mkpydir(name)
        (folder / "prompts.py").write_text(
            f"NAME = {name!r}\ndef render():\n    return 'The prompt of {name}, which lasts.'\n"
        )
    pytester.makepyfile(
        """
import analyzer.prompts, replay.prompts, reports.prompts

def test_own_packages():
    assert [m.prompts.NAME for m in (analyzer, replay, reports)] == ["analyzer", "replay", "reports"]

def test_renderers(prefix_budget):
    for module in (analyzer.prompts, replay.prompts, reports.prompts):
        assert prefix_budget.check(module.render).passed
    assert prefix_budget.check("reports.prompts:render").passed
"""
    )
    run(pytester, "--import-mode=prepend").assert_outcomes(passed=2)


def test_a_project_that_does_not_use_it_loads_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import sys

def test_light():
    loaded = {name.split(".")[0] for name in sys.modules}
    assert "hitledger_pytest" in loaded
    assert not {"hitledger", "hitledger_reports", "tiktoken", "msgspec", "torch"} & loaded
"""
    )
    run(pytester, "-W", "error").assert_outcomes(passed=1)
