"""Files of a git revision, through git's plumbing: arguments in a list, no shell, the work tree is left alone."""

import os
import posixpath
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hitledger.errors import NothingToReadError, UsageError

PREFIX = "git:"
SECONDS = 30
MAX_BYTES = 32 * 2**20
MAX_COPY_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class Checkout:
    """The files of a revision in a folder of their own. `root` is the top of the work tree, `copy` what stands for it."""

    root: Path
    copy: Path
    folder: Path  # what stands for the working folder


def parse(spec: str) -> tuple[str, str]:
    """`git:REV:PATH` as (REV, PATH). Raises UsageError."""
    revision, separator, path = spec.removeprefix(PREFIX).partition(":")
    if not separator or not revision or not path or revision.startswith("-") or path.startswith("/"):
        raise UsageError(f"{spec}: give git:REVISION:PATH, with PATH relative to the working folder")
    return revision, posixpath.normpath(path)


def read(revision: str, path: str, suffixes: frozenset[str] = frozenset()) -> dict[str, str]:
    """The text of a file, or of the files below a folder that end so, by path. Raises NothingToReadError, UsageError."""
    found = _read(revision, path, suffixes)
    if not found:
        raise NothingToReadError(f"{PREFIX}{revision}:{path}: no such file in that revision")
    return found


def read_if_there(revision: str, path: str) -> str | None:
    """A file's text, None where the revision does not hold it. Raises NothingToReadError where there is no such revision."""
    return _read(revision, path, frozenset()).get(path)


def check_out(revision: str, copy: Path) -> Checkout:
    """Write all files of a revision below an empty folder. Raises NothingToReadError, UsageError."""
    shown = f"{PREFIX}{revision}"
    commit = _commit(revision, shown)
    listing = _git("ls-tree", "-r", "-l", "-z", "--full-tree", commit, what=shown).split(b"\0")
    sizes = (entry.partition(b"\t")[0].split()[-1] for entry in listing if entry)
    if sum(int(size) for size in sizes if size.isdigit()) > MAX_COPY_BYTES:
        raise UsageError(f"{shown}: more than {MAX_COPY_BYTES // 2**20} MiB to check out")
    root = _git("rev-parse", "--show-toplevel", what=shown).decode(errors="surrogateescape").removesuffix("\n")
    here = _git("rev-parse", "--show-prefix", what=shown).decode(errors="surrogateescape").removesuffix("\n")
    own_index = {"GIT_INDEX_FILE": str(copy / ".git-index")}
    _git("-C", root, "read-tree", commit, what=shown, extra=own_index)
    _git("-C", root, "checkout-index", "--all", "--quiet", f"--prefix={copy}/", what=shown, extra=own_index)
    (copy / here).mkdir(parents=True, exist_ok=True)
    return Checkout(Path(root), copy, copy / here)


def has_commits() -> bool:
    """Whether the working folder is in a repository in which something is committed."""
    try:
        return bool(_commit("HEAD", "HEAD"))
    except NothingToReadError:
        return False


def _commit(revision: str, shown: str) -> str:
    wanted = f"{revision}^{{commit}}"
    return _git("rev-parse", "--verify", "--quiet", "--end-of-options", wanted, what=shown).decode().strip()


def _read(revision: str, path: str, suffixes: frozenset[str]) -> dict[str, str]:
    shown = f"{PREFIX}{revision}:{path}"
    commit = _commit(revision, shown)
    listing = _git("ls-tree", "-r", "-z", "--full-name", commit, "--", path, what=shown)
    found: dict[str, str] = {}
    here = _git("rev-parse", "--show-prefix", what=shown).decode(errors="surrogateescape").removesuffix("\n")
    for entry in filter(None, listing.split(b"\0")):
        head, _, name = entry.partition(b"\t")
        mode, kind, digest = head.split()
        relative = posixpath.relpath("/" + name.decode(errors="surrogateescape"), "/" + here)
        wanted = relative == path or PurePosixPath(relative).suffix in suffixes
        if kind == b"blob" and mode != b"120000" and wanted:  # a link could point anywhere
            found[relative] = _text(digest.decode(), shown)
    return found


def _text(digest: str, shown: str) -> str:
    size = int(_git("cat-file", "-s", digest, what=shown))
    if size > MAX_BYTES:
        raise NothingToReadError(f"{shown}: larger than {MAX_BYTES // 2**20} MiB")
    try:
        return _git("cat-file", "blob", digest, what=shown).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown}: not UTF-8 text") from error


def _git(*arguments: str, what: str, extra: dict[str, str] | None = None) -> bytes:
    command = ["git", "--no-pager", "--literal-pathspecs", *arguments]
    try:
        environment = os.environ | (extra or {})
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, env=environment)
    except FileNotFoundError as error:
        raise UsageError(f"{what}: git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{what}: git did not answer within {SECONDS} s") from error
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        raise NothingToReadError(f"{what}: git finds no such revision or file{f' ({reason})' if reason else ''}")
    return done.stdout
