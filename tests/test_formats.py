"""`hitledger formats`: the listing, the table, and the docs that show it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hitledger.errors import NothingToReadError, UsageError
from hitledger.logs.registry import readers
from hitledger_reports import formats
from hitledger_reports.cli import app
from log_reading import ROOT

DOCS = ROOT / "docs" / "formats.md"
BEGIN, END = "<!-- formats-table: begin -->\n", "<!-- formats-table: end -->"


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    return


def test_every_reader_is_listed_once_with_what_it_reads() -> None:
    lines = list(formats.listing())
    names = [line.split()[0] for line in lines]
    assert names == sorted(reader.format for reader in readers())
    assert all(len(line.split(maxsplit=1)[1]) > 20 for line in lines)


def test_rows_of_the_table_balance(at_root: None) -> None:
    rows = formats.read_formats(["fixtures"])
    assert [row.format for row in rows] == sorted(row.format for row in rows)
    assert all(row.rows == row.calls + row.known + row.skipped for row in rows)


def test_figures_of_one_format(at_root: None) -> None:
    assert list(formats.table(["fixtures/litellm"])) == [
        "| Format | Files | Rows | Calls | Rows without a call | Rows skipped |",
        "|---|--:|--:|--:|--:|--:|",
        "| litellm | 2 | 8 | 6 | 2 | 0 |",
    ]


def test_every_format_has_a_sample(at_root: None) -> None:
    shown = {row.format for row in formats.read_formats(["fixtures"])}
    assert {reader.format for reader in readers()} - {"refused"} <= shown


def test_the_docs_show_what_the_command_prints(at_root: None) -> None:
    """Regenerate with `hitledger formats --table fixtures`."""
    text = DOCS.read_text()
    assert text.partition(BEGIN)[2].partition(END)[0].splitlines() == list(formats.table(["fixtures"]))


def test_every_format_has_a_section() -> None:
    names = sorted(reader.format for reader in readers())
    headings = "\n".join(line for line in DOCS.read_text().splitlines() if line.startswith("#"))
    missing = [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", headings)]
    assert missing == []


def test_the_command(at_root: None, tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["formats"]).output.splitlines() == list(formats.listing())
    assert (
        "| mooncake | 1 | 40 | 40 | 0 | 0 |" in runner.invoke(app, ["formats", "--table", "fixtures/mooncake"]).output
    )
    assert isinstance(runner.invoke(app, ["formats", "fixtures"]).exception, UsageError)
    assert isinstance(runner.invoke(app, ["formats", "--table", str(tmp_path)]).exception, NothingToReadError)
