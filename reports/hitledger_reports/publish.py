"""One audit into every form that was asked for, with progress on stderr while a person waits.

What writes a form is loaded when that form is asked for: most audits end in the terminal, and pages need jinja2.
"""

from typing import TYPE_CHECKING

from msgspec import Struct
from rich.console import Console

from hitledger.outfile import takes_stdout, write_file
from hitledger.results import Audit, to_json
from hitledger_reports import terminal
from hitledger_reports.progress import drawing
from hitledger_reports.view.by import By

if TYPE_CHECKING:
    from hitledger.measurement import Measurement


class Outputs(Struct, frozen=True):
    """What to write where; None: not asked for. The terminal report is printed unless `quiet`."""

    html: str | None = None
    markdown: str | None = None
    csv: str | None = None
    parquet: str | None = None
    by: By = By.CAUSE
    quiet: bool = False
    show_secrets: bool = False
    measurement: "Measurement | None" = None

    @property
    def prints(self) -> bool:
        """Whether the report for the terminal is printed."""
        return not self.quiet and not takes_stdout(self.html, self.markdown)


def publish(audit: Audit, outputs: Outputs) -> None:
    """Print and write. Raises HitledgerError where a file cannot be written."""
    if outputs.prints:
        terminal.print_audit(audit, Console(emoji=False), outputs.by, outputs.show_secrets, outputs.measurement)
    if outputs.html:
        from hitledger_reports import html

        with drawing(outputs.quiet) as step:
            html.write(audit, outputs.html, outputs.show_secrets, step, outputs.measurement)
    if outputs.markdown:
        from hitledger_reports import markdown

        text = markdown.render(audit, outputs.by, outputs.show_secrets, outputs.measurement)
        write_file(outputs.markdown, text)
    if outputs.csv or outputs.parquet:
        from hitledger_reports import tables
    if outputs.csv:
        tables.write_csv(audit, outputs.csv, outputs.show_secrets)
    if outputs.parquet:
        tables.write_parquet(audit, outputs.parquet, outputs.show_secrets)


def save_json(audit: Audit, path: str) -> None:
    """Write the audit itself. Raises HitledgerError where it cannot be written."""
    write_file(path, to_json(audit))


def publish_comparison(old: Audit, new: Audit, outputs: Outputs) -> None:
    """Print and write what changed from `old` to `new`."""
    from hitledger_reports import html, markdown
    from hitledger_reports.compare import compare

    comparison = compare(old, new)
    if outputs.prints:
        terminal.print_comparison(comparison, Console())
    if outputs.html:
        write_file(outputs.html, html.render_comparison(comparison))
    if outputs.markdown:
        write_file(outputs.markdown, markdown.render_comparison(comparison))
