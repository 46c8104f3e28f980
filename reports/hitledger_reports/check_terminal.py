"""The check in a terminal: money, verdict, failing rules, findings, figures, sessions."""

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from hitledger.check.findings import CheckFinding, Level
from hitledger.check.result import CheckResult, SessionEffect
from hitledger_reports import check_figures, figures
from hitledger_reports.grids import plain_grid
from hitledger_reports.shown import PATH, PROSE, shown

FINDINGS = 20
SESSIONS = 8
STYLES = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.NOTE: "dim"}


def print_check(result: CheckResult, console: Console) -> None:
    """Print the result. Texts of prompts and logs are printed as text: never as markup, never raw."""
    style = "bold green" if result.passed else "bold red"
    verdict = "PASS" if result.passed else "FAIL"
    blocks: list[RenderableType] = [Text.assemble((verdict, style), f"  {check_figures.headline(result)}")]
    for rule in result.rules:
        blocks.append(Text(f"  {'✓' if rule.passed else '✗'} {rule}", style="" if rule.passed else "red"))
    blocks += _findings(result.all_findings)
    if advice := check_figures.advice(result):
        blocks += [Text(f"\n{shown(advice, PROSE)}")]
    blocks += _figures(result)
    blocks += _sessions(result.sessions)
    blocks += [Text(shown(line, PROSE), style="dim") for line in check_figures.remarks(result)]
    if result.traffic is not None:
        blocks.append(Text(figures.LEGEND, style="dim"))
    console.print(Group(*blocks))


def _findings(found: tuple[CheckFinding, ...]) -> list[RenderableType]:
    blocks: list[RenderableType] = []
    for one in found[:FINDINGS]:
        head = Text.assemble(
            "\n", (one.level.value, STYLES[one.level]), f" {one.cause}", (f"  {one.confidence}", "dim")
        )
        head.append("  known" if one.known else "", style="dim")
        blocks += [head, Text(f"  {shown(check_figures.place_of(one), PATH)}")]
        for name, text in (("-", one.before), ("+", one.after)):
            blocks += [Text(f"  {name} {text}")] if text is not None else []
        blocks += [Text(f"  {shown(why, PROSE)}")] if (why := check_figures.explanation(one)) else []
        blocks += [Text(f"  {one.fix}", style="dim")] if one.level is not Level.NOTE else []
    rest = len(found) - FINDINGS
    return [*blocks, Text(f"and {figures.plural(rest, 'more finding')}", style="dim")] if rest > 0 else blocks


def _figures(result: CheckResult) -> list[RenderableType]:
    rows = check_figures.rows(result)
    if not rows:
        return []
    grid = _grid("", "Before", "After", "Change")
    for row in rows:
        grid.add_row(row.label, row.before, row.after, row.change)
    return [Text(""), grid]


def _sessions(sessions: tuple[SessionEffect, ...]) -> list[RenderableType]:
    changed = sorted((one for one in sessions if one.path), key=lambda one: (-one.rewritten_tokens, one.id))
    if not changed:
        return []
    grid = _grid("Session", "Calls", "Hit rate", "After", "Written again", "First change")
    for one in changed[:SESSIONS]:
        grid.add_row(
            shown(one.id),
            figures.count(one.calls),
            figures.share(one.hit_rate.before),
            figures.share(one.hit_rate.after),
            figures.count(one.rewritten_tokens),
            shown(one.path, PATH),
        )
    rest = len(changed) - SESSIONS
    more = [Text(f"and {figures.plural(rest, 'more session')}", style="dim")] if rest > 0 else []
    return [Text(""), grid, *more]


def _grid(*headings: str) -> RichTable:
    grid = plain_grid()
    for number, heading in enumerate(headings):
        is_text = number == 0 or heading == "First change"
        grid.add_column(heading, justify="left" if is_text else "right", overflow="fold" if is_text else "ellipsis")
    return grid
