"""The command line: the one module that knows the analysis, the replay and the reports."""

import sys

import typer

from hitledger.errors import HitledgerError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def hitledger() -> None:
    """Find what breaks the prompt cache in agent logs, what it costs, and prove it by replay."""


def main() -> None:
    """Run the command line; every error of ours ends as one line on stderr and its exit code."""
    try:
        app()
    except HitledgerError as error:
        print(f"hitledger: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
