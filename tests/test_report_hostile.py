"""A log that attacks its reader, through the whole chain: read, audited, and shown in every form."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from browser import chromium, console, requests, screen
from hitledger_reports.cli import app
from hostile_logs import BODY, KEYS, hostile_folder
from test_report_outputs import Tags

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\U000e0000-\U000e0fff]")


def reports(folder: Path, *options: str) -> dict[str, str]:
    """What each form shows: the audit's own outputs, and those of the report on its JSON."""
    out = folder / "out"
    out.mkdir()
    logs = str(hostile_folder(folder / "logs"))
    files = ("--json", f"{out}/a.json", "--html", f"{out}/a.html", "--markdown", f"{out}/a.md")
    audited = CliRunner().invoke(app, ["audit", logs, *files, *options])
    assert audited.exception is None, audited.output
    secrets = [option for option in options if option == "--show-secrets"]
    again = ("--html", f"{out}/r.html", "--markdown", f"{out}/r.md", "--csv", f"{out}/csv", "--by", "session")
    shown = CliRunner().invoke(app, ["report", f"{out}/a.json", *again, *secrets])
    assert shown.exception is None, shown.output
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.[hmc]*")) if path.is_file()}
    return {**texts, "audit terminal": audited.output, "report terminal": shown.output}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return reports(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def text_shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return reports(tmp_path_factory.mktemp("hostile-text"), "--show-text")


def leaks(texts: dict[str, str]) -> set[tuple[str, str]]:
    """Where which secret stands: the whole of it, or so much of its end that it is no accident."""
    return {
        (name, place)
        for name, text in texts.items()
        for place, key in {**KEYS, "github": f"ghp_{BODY}"}.items()
        if key[:24] in text or key[-12:] in text
    }


def test_the_log_is_read_as_it_was_meant(shown: dict[str, str]) -> None:
    """A control: the attacks do reach the reports, in words."""
    assert "12 calls" in shown["audit terminal"]
    assert {"a.html", "a.md", "r.html", "r.md", "breaks.csv", "calls.csv", "segments.csv", "skipped.csv"} <= set(shown)
    for name in ("a.html", "a.md", "breaks.csv", "audit terminal"):
        assert "[redacted API key]" in shown[name], name
        assert "{{7*7}}" in shown[name], name
    for cause in ("tools.set_changed", "tools.text_changed", "model.changed"):
        assert cause in shown["breaks.csv"], cause


def test_no_secret_is_shown(shown: dict[str, str]) -> None:
    assert leaks(shown) == set()


def test_no_secret_is_shown_with_the_text(text_shown: dict[str, str]) -> None:
    assert leaks(text_shown) == set()


def test_secrets_are_shown_where_they_were_asked_for(tmp_path: Path) -> None:
    texts = reports(tmp_path, "--show-text", "--show-secrets")
    assert KEYS["message"] in texts["a.html"] or KEYS["tool"] in texts["a.html"]


@pytest.mark.parametrize("texts", ["shown", "text_shown"])
def test_nothing_invisible_or_steering_is_shown(texts: str, request: pytest.FixtureRequest) -> None:
    for name, text in request.getfixturevalue(texts).items():
        assert UNSEEN.findall(text) == [], name


def test_a_million_letters_make_no_large_report(shown: dict[str, str], text_shown: dict[str, str]) -> None:
    assert max(map(len, (*shown.values(), *text_shown.values()))) < 200_000


@pytest.mark.parametrize("name", ["a.html", "r.html"])
def test_html_holds_no_element_of_the_log(text_shown: dict[str, str], name: str) -> None:
    page = Tags()
    page.feed(text_shown[name])
    assert page.tags.count("script") == 2
    assert {"img", "iframe", "form", "object", "embed", "base"} & set(page.tags) == set()
    assert [one for one, _ in page.attributes if one.startswith("on") or one in ("src", "style", "srcset")] == []
    assert all((value or "").startswith("#") for one, value in page.attributes if one == "href")


@pytest.mark.parametrize("name", ["a.md", "r.md"])
def test_markdown_holds_no_element_of_the_log(text_shown: dict[str, str], name: str) -> None:
    page = Tags()
    page.feed(MarkdownIt("gfm-like", {"linkify": False}).render(text_shown[name].replace("<!-- -->", "")))
    assert {"script", "img", "a", "svg"} & set(page.tags) == set()
    assert re.findall(r"@team|(?<!\\)#1\b", re.sub(r"(`+).+?\1", "", text_shown[name])) == []


def test_terminal_keeps_its_columns(shown: dict[str, str]) -> None:
    for name in ("audit terminal", "report terminal"):
        assert max(map(len, shown[name].splitlines())) <= 80, name


def test_errors_do_not_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    from hitledger_reports import cli

    (tmp_path / f"\x1b[31m{KEYS['file']}\u202e.jsonl").write_text("nothing")  # the escape is printed as \\x1b[31m
    monkeypatch.setattr("sys.argv", ["hitledger", "audit", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    error = capsys.readouterr().err
    assert ended.value.code == 3
    assert "unknown format" in error
    assert UNSEEN.findall(error) == []
    assert BODY not in error


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.mark.parametrize("part", ["overview", "session-1", "break-1", "break-3", "break-5"])
def test_nothing_of_the_log_runs_or_breaks_the_layout(
    driver: Any, text_shown: dict[str, str], tmp_path: Path, part: str
) -> None:
    path = tmp_path / "a.html"
    path.write_text(text_shown["a.html"], encoding="utf-8")
    for width in (1_280, 390):
        screen(driver, width)
        driver.get("about:blank")
        requests(driver)
        console(driver)
        driver.get(f"{path.as_uri()}#{part}")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        assert driver.execute_script("return window.ran === undefined && document.scripts.length === 2")
        assert driver.execute_script("return document.getElementById(arguments[0]).offsetHeight > 0", part)
        assert {url.split("#")[0] for url in requests(driver)} == {path.as_uri()}
        assert console(driver) == []
