"""Which files the user means: files, folders, globs, standard input, a database, or the usual places in the home folder."""

import glob
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from hitledger.errors import NothingToReadError
from hitledger.logs.files import MAX_DOCUMENT_BYTES, LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.postgres import database, is_address
from hitledger.onscreen import escaped

STDIN = "-"
# Where agents keep their logs, below the home folder.
USUAL_PLACES = (
    ".claude/projects",
    ".config/claude/projects",
    ".codex/sessions",
    ".codex/archived_sessions",
    ".copilot/session-state",
    ".gemini/tmp",
    ".local/share/goose/sessions",
    ".local/share/opencode",
    ".pi/agent/sessions",
)
# Where they keep them instead when these variables name a folder.
MOVED_PLACES = {"CLAUDE_CONFIG_DIR": ("projects",), "CODEX_HOME": ("sessions", "archived_sessions")}
NO_LOGS = frozenset({".git", ".hg", ".venv", "__pycache__", "node_modules"})  # folders that hold none

Identity = tuple[int, int]  # device and inode


def discover(inputs: Sequence[str], ingest: Ingest) -> tuple[LogFile, ...]:
    """The log files that `inputs` name, each once, folders in the order of their names.

    What is missing or unreadable is refused in `ingest` and the rest is taken. No input means the usual places.
    Raises NothingToReadError where none of those exist.
    """
    seen: set[Identity] = set()
    files: list[LogFile] = []
    for path, name in _usual_places() if not inputs else _expanded(inputs, ingest):
        if name == STDIN:
            files.append(_standard_input())
        elif is_address(name):
            files.append(database(name))
        else:
            files.extend(_under(path, name, ingest, seen))
    return tuple(files)


def _usual_places() -> list[tuple[Path, str]]:
    home = Path.home()
    places = [(home / place, f"~/{place}") for place in USUAL_PLACES]
    for variable, folders in MOVED_PLACES.items():
        if root := os.environ.get(variable):
            places += [(Path(root) / folder, f"${variable}/{folder}") for folder in folders]
    found = [(path, name) for path, name in places if path.is_dir()]
    if not found:
        names = ", ".join(name for _, name in places)
        raise NothingToReadError(f"no logs in the usual places ({names}): name a file, a folder or - for stdin")
    return found


def _expanded(inputs: Sequence[str], ingest: Ingest) -> Iterator[tuple[Path, str]]:
    for given in inputs:
        if not given:
            ingest.refuse('""', "an empty name; the current folder is .")
        elif given == STDIN or is_address(given) or os.path.lexists(given) or not glob.has_magic(given):
            yield Path(given), given
        else:
            matches = sorted(glob.glob(given, recursive=True, include_hidden=True))
            if not matches:
                ingest.refuse(escaped(given), "no file matches")
            for match in matches:
                yield Path(match), match


def _standard_input() -> LogFile:
    if sys.stdin is None:  # started with it closed
        raise NothingToReadError("standard input is closed: pipe a log in, or name a file")
    content = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise NothingToReadError(f"standard input: more than {MAX_DOCUMENT_BYTES // 2**20} MiB; name the file instead")
    return LogFile(None, STDIN, content)


def _under(path: Path, name: str, ingest: Ingest, seen: set[Identity]) -> Iterator[LogFile]:
    """The file itself, or all files below a folder; a file or folder already seen (a link to it) is left out."""
    waiting = [(path, name)]
    while waiting:
        path, name = waiting.pop()
        try:
            status = path.stat()
            identity = (status.st_dev, status.st_ino)
            if identity in seen:
                continue
            seen.add(identity)
            if stat.S_ISDIR(status.st_mode):
                waiting.extend(reversed(_entries(path, name)))
            elif stat.S_ISREG(status.st_mode):
                yield LogFile(path, escaped(name))
            else:
                ingest.refuse(escaped(name), "neither a file nor a folder (pipe it in and name it -)")
        except OSError as error:
            ingest.refuse(escaped(name), f"cannot be read: {error.strerror}")


def _entries(folder: Path, name: str) -> list[tuple[Path, str]]:
    """What lies in the folder, by name; `x.jsonl` comes before what lies in the folder `x`, as agents lay it out."""
    with os.scandir(folder) as entries:
        found = sorted(
            (entry.name + "/" if _is_folder(entry) else entry.name, entry.name)
            for entry in entries
            if entry.name not in NO_LOGS
        )
    return [(folder / entry, os.path.join(name, entry) if name != "." else entry) for _, entry in found]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """A link that leads nowhere or to itself is no folder; it is refused by its own name, not with its neighbours."""
    try:
        return entry.is_dir()
    except OSError:
        return False
