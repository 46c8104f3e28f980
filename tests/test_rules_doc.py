"""docs/rules.md says what the rule files say: its table is the generated one, its example a valid file."""

import re
from datetime import date
from pathlib import Path

from hitledger.policies.rule import Algorithm
from hitledger.policies.rulefile import parse, rules_of, shipped_files
from hitledger.policies.rules import shipped
from hitledger.whatif.changes import MarkAt
from hitledger_reports.rules_view import STALE_DAYS, table

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "rules.md").read_text()


def test_the_table_is_that_of_the_rule_files() -> None:
    """Write it anew: hitledger rules --table --at 2026-11-29."""
    (day,) = re.findall(r"^## The rules of (\S+)$", TEXT, re.MULTILINE)
    for line in table(shipped().all, date.fromisoformat(day)):
        assert line in TEXT.splitlines()
    section = TEXT.partition("## The rules of")[2].partition("\n## ")[0]
    assert sum(line.startswith("|") for line in section.splitlines()) == len(
        list(table(shipped().all, date.fromisoformat(day)))
    )


def test_the_example_is_a_rule_file() -> None:
    example = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    own = parse(example[1], "docs/rules.md")
    rules = rules_of((own, *shipped_files()))
    assert [rule.id for rule in rules if rule.provider == "gateway"] == [
        "gateway-vllm",
        "gateway/anthropic-2026-09",
        "gateway/anthropic-2024-08",
    ]


def test_algorithms_and_modules_exist() -> None:
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| ([^|]+) \|$", TEXT, re.MULTILINE)
    named = {name: modules for name, modules in rows if name in {str(one) for one in Algorithm}}
    assert set(named) == {str(one) for one in Algorithm} - {"none"}
    for modules in named.values():
        for module in re.findall(r"`(\w+\.py)`", modules):
            assert (ROOT / "analyzer" / "hitledger" / "policies" / module).is_file()


def test_figures_and_places_named_are_those_of_the_code() -> None:
    assert f"more than {STALE_DAYS} days" in TEXT
    assert "--marks system,last" in TEXT
    assert {"system", "last"} <= {str(place) for place in MarkAt}
