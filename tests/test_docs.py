"""What the documentation lists is what the program has."""

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from typer.main import get_command

from hitledger.audit import audit
from hitledger.causes.catalogue import catalogue
from hitledger.errors import HitledgerError, NothingToReadError, UsageError
from hitledger.results import Audit, Break, CallResult, Finding
from hitledger_reports import causes_page
from hitledger_reports.cli import app
from hitledger_reports.terminal import print_audit
from hitledger_reports.view.report import BREAK_PAGES, SESSION_PAGES, TABLE_ROWS
from hitledger_reports.view.session_pages import CALLS_A_PAGE
from hitledger_reports.view.tables import every_table
from report_audits import audit_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_command_is_documented_and_has_help() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    listed = set(re.findall(r"^\| `(\w+)` \|", text("commands.md"), re.MULTILINE))
    assert listed == set(commands)
    assert all(command.help for command in commands.values())


def test_every_cause_is_documented() -> None:
    assert text("causes.md") == causes_page.render()


def test_causes_are_complete() -> None:
    for entry in catalogue().values():
        assert entry.what.endswith(".")
        assert entry.seen.endswith(".")
        assert entry.fix.endswith(".")
        assert entry.detected in ("log", "engine", "named")


def test_every_cause_in_the_code_has_an_entry() -> None:
    found: set[str] = set()
    for path in (ROOT / "analyzer" / "hitledger" / "causes").glob("*.py"):
        found |= set(re.findall(r'Diagnosis\(\s*"([a-z_.]+)"', path.read_text()))
    assert len(found) > 30
    assert found <= set(catalogue())


@pytest.mark.parametrize("struct", [Audit, CallResult, Break, Finding])
def test_every_field_of_the_json_is_documented(struct: type[msgspec.Struct]) -> None:
    page = text("json.md")
    for field in struct.__struct_fields__:
        assert re.search(rf"[` ,]{field}[`, ]", page), field


def test_exit_codes_are_documented() -> None:
    codes = set(map(int, re.findall(r"^\| (\d) \|", text("commands.md"), re.MULTILINE)))
    assert codes == {0, 4, HitledgerError.exit_code, UsageError.exit_code, NothingToReadError.exit_code}


def test_readme_shows_what_the_demo_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    printed = StringIO()
    print_audit(audit(["fixtures/claude-code/real-session"]), Console(file=printed, width=80))
    shown = {line.rstrip() for line in printed.getvalue().splitlines()}
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("```\n60 calls")[1].split("```")[0]
    assert {line.rstrip() for line in ("60 calls" + block).splitlines()} - {"…", ""} <= shown


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("name", sorted(path.name for path in DOCS.glob("*.md")))
def test_links_between_pages_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text(name)):
        assert (DOCS / target).exists(), target


def test_an_unknown_cause_is_refused_with_a_hint() -> None:
    command = [sys.executable, "-c", "from hitledger_reports.cli import main; main()", "explain", "system.volatile"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert "did you mean" in done.stderr


def test_every_option_and_table_of_the_reports_is_documented() -> None:
    page = text("report.md")
    commands = get_command(app).commands  # type: ignore[attr-defined]
    options = {one for param in commands["report"].params for one in param.opts if one.startswith("--")}
    rows = re.findall(r"^\| (`--.+?) \| ", page, re.MULTILINE)
    assert {option for row in rows for option in re.findall(r"`(--[a-z-]+)", row)} == options
    documented: dict[str, list[str]] = {}
    for names, columns in re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \| (.+) \|$", page, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            key = [name.removeprefix("by_")] if "the name of the key" in columns else []
            listed = re.findall(r"`(\w+)`", columns.partition("), ")[2] if key else columns)
            documented[name] = [*key, *listed]
    empty = audit_of([])
    assert documented == {table.name: [column.key for column in table.columns] for table in every_table(empty)}


def test_limits_of_the_page_are_documented() -> None:
    for words in (
        f"the worst {BREAK_PAGES} breaks",
        f"the {SESSION_PAGES} sessions",
        f"at\nmost {CALLS_A_PAGE} calls",
        f"a table {TABLE_ROWS} rows",
    ):
        assert words in text("report.md"), words
