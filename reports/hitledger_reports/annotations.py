"""A check as workflow commands of GitHub Actions: findings and failing rules beside the changed lines."""

from collections.abc import Iterator

from hitledger.check.findings import Level
from hitledger.check.result import CheckResult
from hitledger.redact import visible
from hitledger_reports import check_figures

COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(result: CheckResult) -> str:
    """One command a line. Values are escaped, so that no text of a prompt becomes a command."""
    return "".join(f"{line}\n" for line in _lines(result))


def _lines(result: CheckResult) -> Iterator[str]:
    for one in result.open:
        parts = [check_figures.explanation(one), one.fix]
        message = visible(" ".join(part for part in parts if part))
        place = f"file={_property(one.file)},line={one.line},title={_property(one.cause)}"
        yield f"::{COMMANDS[one.level]} {place}::{_data(message)}"
    for rule in result.rules:
        if not rule.passed:
            yield f"::error title={_property(f'hitledger {rule.name}')}::{_data(str(rule))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
