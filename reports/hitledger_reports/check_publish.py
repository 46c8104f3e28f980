"""One check into every form that was asked for."""

from dataclasses import dataclass

from rich.console import Console

from hitledger.check.result import CheckResult, save
from hitledger.outfile import takes_stdout, write_file
from hitledger_reports import annotations, check_markdown, check_terminal, junit, sarif


@dataclass(frozen=True, slots=True)
class CheckOutputs:
    """What to write where; None: not asked for. `github`: annotations on standard output."""

    json: str | None = None
    markdown: str | None = None
    junit: str | None = None
    sarif: str | None = None
    github: bool = False
    quiet: bool = False


def publish(result: CheckResult, outputs: CheckOutputs) -> None:
    """Print and write. Raises HitledgerError where a file cannot be written."""
    if not outputs.quiet and not takes_stdout(outputs.json, outputs.markdown, outputs.junit, outputs.sarif):
        check_terminal.print_check(result, Console())
    if outputs.github:
        print(annotations.render(result), end="")
    if outputs.json:
        save(result, outputs.json)
    for path, render in (
        (outputs.markdown, check_markdown.render),
        (outputs.junit, junit.render),
        (outputs.sarif, sarif.render),
    ):
        if path:
            write_file(path, render(result))
