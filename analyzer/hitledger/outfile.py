"""A file that the user asked for: what stands in the way of it is one line that names it."""

import sys
from pathlib import Path

from hitledger.errors import HitledgerError

STDOUT = "-"  # as a file's name


def takes_stdout(*paths: str | Path | None) -> bool:
    """Whether one of the files is standard output: then nothing else is printed there."""
    return any(str(path) == STDOUT for path in paths)


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write it, text as UTF-8 with the line ends that it has; `-` is standard output.

    Raises HitledgerError where it cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if takes_stdout(path):
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        else:
            Path(path).write_bytes(data)
    except OSError as error:
        raise HitledgerError(f"{path}: cannot be written: {error.strerror}") from error
