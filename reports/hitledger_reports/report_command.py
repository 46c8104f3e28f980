"""`hitledger report`: its options, and from them to audits shown again."""

from typing import Annotated

import typer

from hitledger.errors import UsageError
from hitledger_reports.view.by import By


def report(
    audits: Annotated[list[str], typer.Argument(metavar="AUDIT.json…", help="Audits; several are joined into one.")],
    html: Annotated[str | None, typer.Option(metavar="FILE", help="One page, nothing remote.")] = None,
    markdown: Annotated[str | None, typer.Option(metavar="FILE", help="For pull requests and tickets.")] = None,
    csv: Annotated[str | None, typer.Option(metavar="DIR", help="Every table, a file each.")] = None,
    parquet: Annotated[str | None, typer.Option(metavar="DIR", help="Every table, a file each.")] = None,
    by: Annotated[By, typer.Option(help="What the sums in terminal and Markdown are by.")] = By.CAUSE,
    since: Annotated[str | None, typer.Option(help="First day or time (UTC) to count.")] = None,
    until: Annotated[str | None, typer.Option(help="Last day to count, or the time (UTC) to stop at.")] = None,
    compare: Annotated[bool, typer.Option("--compare", help="OLD.json NEW.json: better or worse.")] = False,
    measured: Annotated[str | None, typer.Option(metavar="FILE", help="A replay of this audit, from --json.")] = None,
    show_secrets: Annotated[bool, typer.Option("--show-secrets", help="Do not redact again.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.")] = False,
) -> None:
    """Show audits again: in the terminal, as a page, as Markdown, as tables."""
    from hitledger import measurement
    from hitledger.results import load
    from hitledger_reports import combine, publish

    if compare and len(audits) != 2:
        raise UsageError("--compare takes two audits: OLD.json NEW.json")
    if compare and (measured or csv or parquet):
        raise UsageError(
            "--compare prints and writes --html and --markdown; it takes no --measured, --csv or --parquet"
        )
    start = combine.instant(since, "--since") if since else None
    end = combine.until(until) if until else None
    replayed = measurement.load(measured) if measured else None
    outputs = publish.Outputs(html, markdown, csv, parquet, by, quiet, show_secrets, replayed)
    if compare:
        old, new = (combine.between(load(path), start, end) for path in audits)
        publish.publish_comparison(old, new, outputs)
    else:
        publish.publish(combine.between(combine.join([load(path) for path in audits]), start, end), outputs)
