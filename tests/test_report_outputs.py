"""Terminal, Markdown, CSV and Parquet: readable in a pipe, harmless, complete."""

import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import polars
import pytest
from markdown_it import MarkdownIt

from hitledger.errors import HitledgerError
from hitledger.results import Audit
from hitledger_reports import html, markdown, tables
from hitledger_reports.view.groups import By
from hitledger_reports.view.tables import every_table
from report_audits import audit_of, broken, call, secretive, shop
from test_report_goldens import printed

SECRETS = ("sk-ant-", "ghp_", "hunter2", "a1B2c3D4a1B2")


def outputs(audit: Audit, folder: Path) -> dict[str, str]:
    names = tables.write_csv(audit, str(folder))
    csv = "".join((folder / name).read_text(encoding="utf-8") for name in names)
    return {"html": html.render(audit), "markdown": markdown.render(audit), "terminal": printed(audit), "csv": csv}


def test_no_secret_passes(tmp_path: Path) -> None:
    for name, text in outputs(secretive(), tmp_path).items():
        assert not any(secret in text for secret in SECRETS), name
        assert "[redacted API key]" in text, name


def test_secrets_pass_where_they_were_asked_for() -> None:
    assert "hunter2" in html.render(secretive(), show_secrets=True)
    assert "hunter2" in markdown.render(secretive(), show_secrets=True)


def test_nothing_invisible_passes(tmp_path: Path) -> None:
    for name, text in outputs(secretive(), tmp_path).items():
        assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", text) == [], name


def test_a_huge_text_does_not_make_a_huge_report(tmp_path: Path) -> None:
    for name, text in outputs(secretive(), tmp_path).items():
        assert len(text) < 100_000, name


class Tags(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_html_has_no_tag_or_address_of_the_log() -> None:
    page = Tags()
    page.feed(html.render(secretive()))
    assert page.tags.count("script") == 2
    assert "img" not in page.tags
    assert [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style")] == []
    assert all((value or "").startswith("#") for name, value in page.attributes if name == "href")
    assert "{{7*7}}" in html.render(secretive())  # printed, not computed


def test_markdown_of_a_hostile_log_holds_no_markup_of_it() -> None:
    parser = MarkdownIt("gfm-like", {"linkify": False})
    page = Tags()
    page.feed(parser.render(markdown.render(secretive()).replace("<!-- -->", "")))
    assert {"script", "img", "a"} & set(page.tags) == set()


def test_markdown_mentions_nobody() -> None:
    outside_code = re.sub(r"(`+).+?\1", "", markdown.render(secretive()))
    assert re.findall(r"@\w|(?<!\\)#\d", outside_code) == []
    assert markdown.prose("ask @team about #12 and <b>") == r"ask @<!-- -->team about \#<!-- -->12 and \<b\>"


@pytest.mark.parametrize(
    ("text", "span"), [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("a``b`", "``` a``b` ```"), ("", "")]
)
def test_code_spans(text: str, span: str) -> None:
    assert markdown.code(text) == span


def test_every_markdown_table_row_has_as_many_cells_as_its_head() -> None:
    for text in (markdown.render(shop()), markdown.render(secretive())):
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(widths) == 1, block


def test_terminal_is_plain_in_a_pipe_and_keeps_to_80_columns() -> None:
    for audit in (shop(), secretive()):
        text = printed(audit)
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80


def test_terminal_colours_are_its_own() -> None:
    text = printed(secretive(), force_terminal=True, color_system="standard")
    assert set(re.findall("\x1b(.)", text)) == {"["}
    assert re.findall("\x1b\\[([0-9;]*)(.)", text)
    assert {letter for _, letter in re.findall("\x1b\\[([0-9;]*)(.)", text)} == {"m"}


def test_terminal_says_what_comes_first() -> None:
    lines = printed(shop()).splitlines()
    order = [
        "Paid",
        "What broke it",
        "Change first",
        "Worst 2 of 2 breaks",
        "By cause",
        "Sessions",
        "What was read",
        "Evidence",
    ]
    places = [next(n for n, line in enumerate(lines) if line.startswith(start)) for start in order]
    assert places == sorted(places)
    assert "  ▁█▂█▁▇▁" in lines
    assert "    !   !" in lines


@pytest.mark.parametrize("by", list(By))
def test_by_chooses_the_table(by: By) -> None:
    assert f"### By {by.value}" in markdown.render(shop(), by)


def test_csv_has_every_table_and_exact_money(tmp_path: Path) -> None:
    names = tables.write_csv(shop(), str(tmp_path / "new" / "folder"))
    assert set(names) == {
        "by_cause.csv", "by_day.csv", "by_model.csv", "by_session.csv", "by_project.csv", "by_agent.csv",
        "breaks.csv", "findings.csv", "calls.csv", "segments.csv", "ingest.csv", "skipped.csv", "rules.csv", "prices.csv",
    }  # fmt: skip
    breaks = polars.read_csv(tmp_path / "new" / "folder" / "breaks.csv", infer_schema=False)
    assert breaks["cost_usd"].to_list() == ["0.054165000000", "0.039675000000"]
    assert breaks["certainty"].to_list() == ["calibrated", "exact"]
    calls = polars.read_csv(tmp_path / "new" / "folder" / "calls.csv")
    assert calls["input_tokens"].to_list()[-1] is None  # a refused call: unknown, not 0
    assert calls["input_tokens"].sum() == shop().totals.input_tokens


def test_parquet_keeps_types(tmp_path: Path) -> None:
    tables.write_parquet(shop(), str(tmp_path))
    calls = polars.read_parquet(tmp_path / "calls.parquet")
    assert calls.schema["started_at"] == polars.Datetime("us", "UTC")
    assert calls["cost_usd"].sum() == shop().totals.cost
    assert calls.schema["cost_usd"].is_decimal()


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    tables.write_csv(secretive(), str(tmp_path))
    for path in tmp_path.iterdir():
        frame = polars.read_csv(path, infer_schema=False)
        for column in frame.columns:
            assert not any((value or "").startswith(("=", "@", "+")) for value in frame[column]), (path, column)


def test_rows_have_a_value_for_every_column() -> None:
    for table in (*every_table(shop()), *every_table(secretive()), *every_table(audit_of([]))):
        assert all(len(row) == len(table.columns) for row in table.rows), table.name


def test_an_audit_of_nothing_is_shown_without_a_crash(tmp_path: Path) -> None:
    for name, text in outputs(audit_of([]), tmp_path).items():
        assert "$0.00" not in text, name
    assert "There is nothing to judge." in html.render(audit_of([]))


def test_unknown_money_stays_unknown_in_csv(tmp_path: Path) -> None:
    one = call(0, 0, 5_000, cost=None, cost_without_cache=None, cost_source=None)
    tables.write_csv(audit_of([one], [broken(one, "system.volatile_id", 5_000, cost=None)]), str(tmp_path))
    assert polars.read_csv(tmp_path / "by_cause.csv", infer_schema=False)["break_cost_usd"].to_list() == [None]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HitledgerError, match=r"file/x\.html: cannot be written"):
        html.write(shop(), str(tmp_path / "file" / "x.html"))
    with pytest.raises(HitledgerError, match="cannot be written"):
        tables.write_csv(shop(), str(tmp_path / "file"))
    assert isinstance(shop().totals.cost, Decimal)
