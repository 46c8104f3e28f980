"""The audit as Markdown for pull requests and tickets. Texts of a log stand in code spans, so that none takes effect."""

import re
from collections.abc import Sequence

from hitledger.measurement import Measurement
from hitledger.results import Audit
from hitledger_reports import figures
from hitledger_reports.compare import Change, Comparison
from hitledger_reports.view import tables
from hitledger_reports.view.breaks import BreakView, break_views
from hitledger_reports.view.by import By
from hitledger_reports.view.group_tables import group_table
from hitledger_reports.view.overview import overview
from hitledger_reports.view.table import Table, cells
from hitledger_reports.view.verdict import BrokenBy

WORST = 5
ROWS = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#+!|~$&^])")


def render(audit: Audit, by: By = By.CAUSE, show_secrets: bool = False, measurement: Measurement | None = None) -> str:
    """The report as a string. Same audit, same string."""
    head = overview(audit, measurement)
    lines = [f"## Prompt cache: {head.scope}", "", head.period, ""]
    lines += _rows(("Figure", "Value", ""), [(one.label, f"**{one.value}**", one.note) for one in head.figures], "lrl")
    if head.broken_by:
        lines += [f"**What broke it:** {', '.join(map(_broken_by, head.broken_by))}.", ""]
    if head.first:
        first = head.first
        lines += [
            f"**Change first: {code(first.cause)}**, {first.cost} in {first.breaks}. {prose(first.what)} **Fix:** {prose(first.fix)}",
            "",
        ]
    if head.calm:
        lines += [f"**{head.calm.title}**: {head.calm.text}", ""]
    ledger = [(one.name, one.tokens, one.share, one.meaning) for one in head.columns]
    lines += ["### Cache reads in tokens", "", *_rows(("Column", "Tokens", "Of the input", ""), ledger, "lrrl")]
    lines += [head.beyond_ideal, ""] if head.beyond_ideal else []
    worst = break_views(audit, WORST, show_secrets)
    if worst:
        lines += [f"### Worst {len(worst)} of {figures.plural(len(audit.breaks), 'break')}", ""]
        for found in worst:
            lines += _break(found)
    lines += _table(group_table(audit, by))
    for table in (tables.findings(audit), tables.ingest(audit), tables.skipped(audit), tables.prices(audit)):
        lines += _table(table)
    lines += [f"- {prose(line)}" for line in (*head.warnings, head.small, head.calibration) if line]
    lines += ["", figures.LEGEND]
    return "\n".join(lines).rstrip() + "\n"


def render_comparison(comparison: Comparison) -> str:
    """Two audits side by side."""
    lines = ["## Prompt cache: what got better, what got worse", "", comparison.summary, ""]
    lines += _rows(("Figure", "Old", "New", "Change", "Verdict"), [_change(one) for one in comparison.whole], "lrrrl")
    if comparison.causes:
        rows = [_change(one, named=True) for one in comparison.causes]
        lines += ["### Causes", "", *_rows(("Cause", "Old", "New", "Change", "Verdict"), rows, "lrrrl")]
    return "\n".join(lines).rstrip() + "\n"


def code(text: str) -> str:
    """A code span, its fence longer than any run of backticks in the text."""
    if not text:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def prose(text: str) -> str:
    """Plain text: no markup, no link, no mention of a person or a ticket."""
    return _SPECIAL.sub(r"\\\1", text).replace("@", "@<!-- -->").replace("\\#", "\\#<!-- -->")


def _broken_by(one: BrokenBy) -> str:
    return f"{code(one.cause)} {one.cost} ({one.note})" if one.cause else one.note


def _break(found: BreakView) -> list[str]:
    place = ", ".join(part for part in (code(found.place), found.offset) if part)
    agent = "" if found.agent == "main" else f", agent {code(found.agent)}"
    lines = [
        f"{found.number}. **{code(found.cause)}** ({prose(found.confidence)}): **{found.cost}**, {found.rebilled} tokens billed again",
        f"   - {found.call}{agent} of {code(found.session)}, {found.when()}; place: {place}",
    ]
    for name, side in (("before", found.excerpt.before), ("now", found.excerpt.after)):
        lines += [f"   - {name}: {code(side.text)}"] if side else []
    for name, text in (("seen", found.note), ("provider", found.provider), ("fix", found.fix)):
        lines += [f"   - {name}: {prose(text)}"] if text else []
    return [*lines, ""]


def _table(table: Table) -> list[str]:
    if not table.rows:
        return []
    headings = table.headings
    rows = [
        tuple(cell.text if column.is_number else code(cell.text) for column, cell in zip(headings, row, strict=True))
        for row in cells(table, ROWS)
    ]
    align = "".join("r" if column.is_number else "l" for column in headings)
    rest = len(table.rows) - ROWS
    more = [f"and {figures.plural(rest, 'more row')}", ""] if rest > 0 else []
    return [f"### {table.title}", "", *_rows(tuple(column.title for column in headings), rows, align), *more]


def _rows(headings: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> list[str]:
    marks = {"l": ":---", "r": "---:"}
    escaped = [[text.replace("|", "\\|") for text in row] for row in rows]  # also in a code span a pipe ends the cell
    lines = [headings, tuple(marks[side] for side in align), *escaped]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def _change(change: Change, named: bool = False) -> tuple[str, ...]:
    label = code(change.label) if named else change.label
    return label, change.old, change.new, change.change, change.verdict.value
