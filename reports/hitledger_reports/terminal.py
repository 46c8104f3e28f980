"""The audit in a terminal: headline, worst breaks, sums, sessions, what was read. Plain in a pipe, 80 columns."""

from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from hitledger.results import Audit
from hitledger_reports import figures
from hitledger_reports.grids import plain_grid
from hitledger_reports.view import tables
from hitledger_reports.view.breaks import BreakView, break_views
from hitledger_reports.view.by import By
from hitledger_reports.view.excerpt import Side
from hitledger_reports.view.group_tables import group_table
from hitledger_reports.view.overview import Overview, overview
from hitledger_reports.view.sessions import SessionRow, session_rows
from hitledger_reports.view.table import Table, cells
from hitledger_reports.view.verdict import BrokenBy

if TYPE_CHECKING:
    from hitledger.measurement import Measurement
    from hitledger_reports.compare import Comparison

WORST = 5
SESSIONS = 8
ROWS = 12
_SHADES = "▁▂▃▄▅▆▇█"
# Columns that a table of sums can spare at 80 columns; CSV, Markdown and HTML have them.
_BY_CALLS = ("calls", "input_tokens", "hit_rate", "cost_usd", "breaks", "break_cost_usd")
_SPARED = {"uncached_input_tokens", "output_tokens", "cache_write_tokens", "lost_tokens"}


def print_audit(
    audit: Audit,
    console: Console,
    by: By = By.CAUSE,
    show_secrets: bool = False,
    measurement: "Measurement | None" = None,
) -> None:
    """Print the report. Texts of the log are printed as text: never as markup, never raw."""
    head = overview(audit, measurement)
    blocks: list[RenderableType] = [*_headline(head)]
    worst = break_views(audit, WORST, show_secrets)
    if worst:
        blocks += [_title(_worst_title(len(audit.breaks)))]
        blocks += [_break(found) for found in worst]
    if audit.breaks or by is not By.CAUSE:
        blocks += _table(group_table(audit, by), None if by is By.CAUSE else {by.value, *_BY_CALLS})
    blocks += _sessions(session_rows(audit, SESSIONS), len(audit.sessions))
    if audit.findings:
        blocks += _table(tables.findings(audit), {"index", "cause", "note"})
    blocks += _table(_telling_first(tables.ingest(audit)), {"file", "format", "rows", "calls", "other_rows", "skipped"})
    if audit.ingest.skips or audit.ingest.refused:
        blocks += _table(tables.skipped(audit))
    blocks += [Text(""), *(Text(f"! {line}", style="yellow") for line in head.warnings)]
    blocks += [
        Text(line, style="dim") for line in (head.small, _evidence(head), head.calibration, figures.LEGEND) if line
    ]
    console.print(Group(*blocks))


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _evidence(head: Overview) -> str:
    return f"Evidence: {', '.join(head.evidence)}." if head.evidence else ""


def _worst_title(number: int) -> str:
    return "Worst break" if number == 1 else f"Worst {min(WORST, number)} of {figures.plural(number, 'break')}"


def _headline(head: Overview) -> list[RenderableType]:
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True, style="bold")
    grid.add_column(style="dim")
    for figure in head.figures:
        grid.add_row(figure.label, figure.value, figure.note)
    columns = RichTable.grid(padding=(0, 2))
    columns.add_column(no_wrap=True)
    columns.add_column(justify="right", no_wrap=True)
    columns.add_column(justify="right", no_wrap=True)
    columns.add_column(style="dim")
    for column in head.columns:
        columns.add_row(column.name, column.tokens, column.share, column.meaning)
    blocks: list[RenderableType] = [Text(f"{head.scope}; {head.period}"), grid, Text("")]
    if head.broken_by:
        blocks += [Text.assemble(("What broke it: ", "bold"), *_broken_by(head.broken_by))]
    if head.first:
        first = head.first
        line = Text.assemble(("Change first: ", "bold"), (first.cause, "bold red"))
        line.append(f" ({first.breaks}, {first.cost}). {first.what} Fix: {first.fix}")
        blocks += [line]
    if head.calm:
        blocks += [Text.assemble((head.calm.title, "bold"), f": {head.calm.text}")]
    beyond = [Text(head.beyond_ideal, style="dim")] if head.beyond_ideal else []
    return [*blocks, _title("Cache reads in tokens"), columns, *beyond]


def _broken_by(causes: tuple[BrokenBy, ...]) -> Iterator[str]:
    for number, one in enumerate(causes):
        yield (", " if number else "") + (f"{one.cause} {one.cost} ({one.note})" if one.cause else one.note)
    yield "."


def _break(found: BreakView) -> RenderableType:
    head = RichTable.grid(expand=True, padding=(0, 1))
    head.add_column(ratio=1)
    head.add_column(justify="right", no_wrap=True)
    cause = Text.assemble(f"{found.number}. ", (found.cause, "bold red"), (f"  {found.confidence}", "dim"))
    head.add_row(cause, Text(f"{found.cost}  {found.rebilled} tokens", style="bold"))
    grid = RichTable.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    agent = "" if found.agent == "main" else f", agent {found.agent}"
    grid.add_row("call", Text(f"{found.call}{agent} of {found.session}, {found.when('the last')}"))
    grid.add_row("place", Text(", ".join(part for part in (found.place, found.offset) if part)))
    for name, side, style in (("before", found.excerpt.before, "red"), ("after", found.excerpt.after, "green")):
        if side is not None:
            grid.add_row(name, _side(side, style))
    for name, text in (("", found.excerpt.remark), ("note", found.note), ("said", found.provider), ("fix", found.fix)):
        if text:
            grid.add_row(name, Text(text))
    return Group(head, Padding(grid, (0, 0, 0, 3)))


def _side(side: Side, style: str) -> Text:
    return Text.assemble(side.same, (side.differs, f"{style} underline"), side.tail)


def _table(table: Table, only: set[str] | None = None) -> list[RenderableType]:
    if not table.rows:
        return []
    grid = plain_grid()
    chosen = [
        number
        for number, column in enumerate(table.headings)
        if (column.key in only if only else column.key not in _SPARED)
    ]
    for number in chosen:
        column = table.headings[number]
        grid.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            no_wrap=column.is_number or column.key == By.DAY,
            overflow="ellipsis" if column.is_number else "fold",  # a figure that was cut has to look it
        )
    for row in cells(table, ROWS):
        grid.add_row(*(Text(row[number].text) for number in chosen))
    rest = len(table.rows) - ROWS
    more = (
        [Text(f"and {figures.plural(rest, 'more row')}: hitledger report --csv writes all", style="dim")]
        if rest > 0
        else []
    )
    return [_title(table.title), grid, *more]


def _telling_first(files: Table) -> Table:
    """Of more files than are shown those with skipped rows first, then those with most calls."""
    if len(files.rows) <= ROWS:
        return files
    keys = [column.key for column in files.columns]
    figures_of = itemgetter(keys.index("skipped"), keys.index("calls"))
    return replace(files, rows=tuple(sorted(files.rows, key=figures_of, reverse=True)))


def _sessions(rows: tuple[SessionRow, ...], number: int) -> list[RenderableType]:
    if not rows:
        return []
    blocks: list[RenderableType] = [
        _title("Sessions (a bar a call, or some of many: share of the prompt read; ! a break)")
    ]
    for row in rows:
        line = Text.assemble(
            (row.name, "bold"),
            f"  {row.calls.text}, {row.hit_rate.text} read, {row.cost.text} paid, {row.lost.text} lost",
        )
        strip, flags = Text("  "), Text("  ")
        for cell in row.heat:
            if cell.read is None:
                strip.append("·", style="dim")
            else:
                strip.append(_SHADES[min(int(cell.read * len(_SHADES)), len(_SHADES) - 1)], style=_colour(cell.read))
            flags.append("!" if cell.broke else " ", style="bold red")
        blocks += [line, strip, *([flags] if flags.plain.strip() else [])]
    rest = number - len(rows)
    return blocks + ([Text(f"and {figures.plural(rest, 'more session')}", style="dim")] if rest > 0 else [])


def _colour(read: float) -> str:
    return "blue" if read >= 0.9 else "cyan" if read >= 0.5 else "yellow"


def print_comparison(comparison: "Comparison", console: Console) -> None:
    """Print what got better and what got worse."""
    blocks: list[RenderableType] = [Text(comparison.summary, style="bold")]
    for title, rows in (("Whole audits", comparison.whole), ("Causes", comparison.causes)):
        grid = plain_grid()
        grid.add_column(title)
        for heading in ("Old", "New", "Change"):
            grid.add_column(heading, justify="right")
        grid.add_column("")
        for row in rows:
            style = {"better": "green", "worse": "red"}.get(row.verdict.value, "")
            verdict = Text(row.verdict.value, style=style)
            grid.add_row(Text(row.label), Text(row.old), Text(row.new), Text(row.change), verdict)
        blocks += [Text(""), grid] if rows else []
    console.print(Group(*blocks))
