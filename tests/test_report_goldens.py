"""Whole reports against files under fixtures/expected/. Write them anew: `python tests/test_report_goldens.py`."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from hitledger.results import Audit, from_json, to_json
from hitledger_reports import html, markdown, tables, terminal
from report_audits import secretive, shop

EXPECTED = Path(__file__).parent.parent / "fixtures" / "expected"
AUDITS: dict[str, Callable[[], Audit]] = {"shop": shop, "hostile": secretive}


def printed(audit: Audit, **console: object) -> str:
    """What the terminal report prints at 80 columns."""
    out = io.StringIO()
    terminal.print_audit(audit, Console(file=out, width=80, **console))  # type: ignore[arg-type]
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def csv_text(audit: Audit, folder: Path) -> str:
    """All CSV files one after the other."""
    names = tables.write_csv(audit, str(folder))
    return "".join(f"# {name}\n{(folder / name).read_text(encoding='utf-8')}" for name in names)


def reports(name: str, folder: Path) -> dict[str, str]:
    """Every report of an audit by file name."""
    audit = AUDITS[name]()
    return {
        f"{name}.html": html.render(audit),
        f"{name}.md": markdown.render(audit),
        f"{name}.txt": printed(audit),
        f"{name}.csv": csv_text(audit, folder),
    }


@pytest.mark.parametrize("name", AUDITS)
def test_reports_are_as_they_were(name: str, tmp_path: Path) -> None:
    for file, content in reports(name, tmp_path).items():
        assert content == (EXPECTED / file).read_text(encoding="utf-8"), file


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_read_back_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    audit = AUDITS[name]()
    again = from_json(to_json(audit), "audit.json")
    assert html.render(again) == html.render(audit)
    assert markdown.render(again) == markdown.render(audit)
    assert csv_text(again, tmp_path / "again") == csv_text(audit, tmp_path / "first")


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for audit_name in AUDITS:
        for file_name, text in reports(audit_name, Path(sys.argv[1])).items():
            (EXPECTED / file_name).write_text(text, encoding="utf-8")
