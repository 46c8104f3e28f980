"""What the user names as baseline or candidate, as material: a file, a folder, a git revision of either, a renderer."""

import os
import posixpath
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hitledger.check import gitfiles
from hitledger.check.material import Material, material_of_text, material_of_value
from hitledger.check.render import is_target, render
from hitledger.check.runner import Place
from hitledger.errors import NothingToReadError, UsageError

MAX_FILE_BYTES = 32 * 2**20
MAX_FILES = 500
SUFFIXES = frozenset({".md", ".txt", ".json", ".prompt", ".jinja", ".j2", ".xml"})


@dataclass(frozen=True, slots=True)
class Source:
    """The parts of one side. `renders` are (condition, what was rendered) of a renderer."""

    spec: str
    parts: tuple[Material, ...]
    renders: tuple[tuple[str, Material], ...] = ()

    @property
    def rendered(self) -> bool:
        """Whether a renderer made it."""
        return bool(self.renders)


def load(spec: str, place: Place) -> Source:
    """Raises NothingToReadError where nothing is there, UsageError where it is no prompt, RenderError."""
    if spec.startswith(gitfiles.PREFIX):
        revision, path = gitfiles.parse(spec)
        if is_target(path) and gitfiles.read_if_there(revision, path) is None:
            return _rendered_then(spec, revision, path, place)
        return Source(spec, _materials(gitfiles.read(revision, path, SUFFIXES), path))
    path_here = Path(spec)
    shown = shown_path(path_here, place.folder)
    if path_here.is_dir():
        return Source(spec, _materials(_folder(path_here, shown), shown))
    if path_here.exists() or path_here.is_symlink():
        return Source(spec, (material_of_text(_read(path_here, shown), "", shown),))
    if is_target(spec):
        return _rendered(spec, spec, place)
    raise NothingToReadError(f"{spec}: no such file or folder, and no git:REV:PATH or module:function")


def _rendered_then(spec: str, revision: str, target: str, place: Place) -> Source:
    """A renderer as it was, with all files of its revision."""
    with tempfile.TemporaryDirectory(prefix="hitledger-check-", ignore_cleanup_errors=True) as copy:
        checkout = gitfiles.check_out(revision, Path(copy).resolve())
        return _rendered(spec, target, Place(checkout.folder, place.search, place.seconds, checkout))


def _rendered(spec: str, target: str, place: Place) -> Source:
    found = render(target, place)

    def material(value: object) -> Material:
        return material_of_value(value, "", found.file or spec, "", found.line)

    return Source(spec, (material(found.reference),), tuple((r.condition, material(r.value)) for r in found.others))


def _materials(files: dict[str, str], root: str) -> tuple[Material, ...]:
    """One part a file. Files of a folder are named by their path in it, a file alone has no name."""
    if list(files) == [root]:
        return (material_of_text(files[root], "", root),)
    chosen = {path: text for path, text in files.items() if Path(path).suffix in SUFFIXES}
    if not chosen:
        raise NothingToReadError(f"{root}: no prompt files ({', '.join(sorted(SUFFIXES))})")
    return tuple(material_of_text(text, posixpath.relpath(path, root), path) for path, text in sorted(chosen.items()))


def _folder(folder: Path, shown: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink():
            name = f"{shown}/{path.relative_to(folder).as_posix()}"
            found[name] = _read(path, name)
        if len(found) > MAX_FILES:
            raise UsageError(f"{shown}: more than {MAX_FILES} prompt files")
    return found


def shown_path(path: Path, folder: Path) -> str:
    """A path as it is shown: relative to the project where it lies in it, else as it was given."""
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):  # the last two: links that lead in a circle
        return path.as_posix()


def _read(path: Path, shown: str) -> str:
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{shown}: not a regular file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{shown}: larger than {MAX_FILE_BYTES // 2**20} MiB")
        return path.read_bytes().decode()  # as git has it: line ends are part of a prompt
    except OSError as error:
        raise NothingToReadError(f"{shown}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown}: not UTF-8 text") from error


def load_changed(files: tuple[str, ...], revision: str) -> tuple[Source | None, Source]:
    """Changed files, each named by its path, and their texts in a git revision; a new file has none there."""
    files = tuple(Path(os.path.relpath(file)).as_posix() for file in files)
    candidates = tuple(material_of_text(_read(Path(file), file), file, file) for file in files)
    baselines = []
    if revision != "HEAD" or gitfiles.has_commits():  # with nothing committed yet all files are new
        for file in files:
            if (text := gitfiles.read_if_there(revision, file)) is not None:
                baselines.append(material_of_text(text, file, file))
    baseline = Source(f"{gitfiles.PREFIX}{revision}", tuple(baselines)) if baselines else None
    return baseline, Source(", ".join(files), candidates)
