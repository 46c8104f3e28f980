"""The program `hitledger`: the command line as a process of its own, quick to begin and quick to end."""

import os
import sys
from contextlib import suppress
from typing import NoReturn

from hitledger.collector import collector_paused
from hitledger.errors import HitledgerError


def run() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    with collector_paused():  # what is imported stays: looking for garbage among it finds none
        from hitledger_reports.cli import main
    try:
        main()
    except SystemExit as ending:
        _end(ending.code)
    _end(0)


def _end(code: object) -> NoReturn:
    """Leave at once: to free the values of a large audit one by one would take as long as to report on them.

    Nothing waits for the interpreter's own end: files are closed and temporary folders gone when a command returns.
    """
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    try:
        if sys.stdout is not None:  # as in a process that was started with it closed
            sys.stdout.flush()
    except OSError as error:
        print(f"hitledger: cannot write: {error.strerror or error}", file=sys.stderr)
        code = code or HitledgerError.exit_code
    with suppress(OSError, AttributeError):
        sys.stderr.flush()
    os._exit(code or 0)
