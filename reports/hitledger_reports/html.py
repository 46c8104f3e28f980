"""The report as one HTML file: nothing remote, readable without JavaScript, and safe with whatever a log says."""

import hashlib
from base64 import b64encode
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hitledger.measurement import Measurement
from hitledger.outfile import write_file
from hitledger.results import Audit
from hitledger.stages import Progress
from hitledger_reports.compare import Comparison
from hitledger_reports.view.report import report


def render(
    audit: Audit,
    show_secrets: bool = False,
    progress: Progress | None = None,
    measurement: Measurement | None = None,
) -> str:
    """The page as a string. Same audit, same string."""
    page = report(audit, show_secrets, progress, measurement)
    return _environment().get_template("report.html").render(report=page, **_assets())


def render_comparison(comparison: Comparison) -> str:
    """Two audits side by side as a page."""
    return _environment().get_template("comparison.html").render(comparison=comparison, **_assets())


def write(
    audit: Audit,
    path: str,
    show_secrets: bool = False,
    progress: Progress | None = None,
    measurement: Measurement | None = None,
) -> None:
    """Write the page. Raises HitledgerError where the file cannot be written."""
    write_file(path, render(audit, show_secrets, progress, measurement))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("hitledger_reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _assets() -> dict[str, Markup]:
    """Style sheet and script, and their hashes: the page's own policy lets nothing else run or load."""
    folder = resources.files("hitledger_reports") / "templates"
    style, script, early = (
        (folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js", "early.js")
    )
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)} {_hash(early)}; "
        "base-uri 'none'; form-action 'none'"
    )
    # These three files are ours; nothing of a log is in them.
    return {"style": Markup(style), "script": Markup(script), "early": Markup(early), "policy": Markup(policy)}


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
