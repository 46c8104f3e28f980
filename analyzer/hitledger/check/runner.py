"""Run the worker under one condition, in a process of its own with a time limit. What it answers is not trusted."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import orjson

from hitledger.check.conditions import REFERENCE, Condition
from hitledger.check.gitfiles import Checkout
from hitledger.check.workfolder import git_state, links_to
from hitledger.errors import HitledgerError

WORKER = Path(__file__).with_name("worker.py")
SECONDS = 20.0
MAX_ANSWER_BYTES = 64 * 2**20
MAX_PRINTED = 200
CALLS = 2  # of the worker, in one process


class RenderError(HitledgerError):
    """A renderer that raises, hangs, prints, exits, or gives something that is no prompt."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a renderer is run: its project's folder, what Python looks for modules in, and the time limit."""

    folder: Path
    search: tuple[str, ...] = ()
    seconds: float = SECONDS
    checkout: Checkout | None = None  # the files are those of a git revision


class Answer(msgspec.Struct, frozen=True):
    """What the worker writes: JSON texts, or what went wrong. A renderer can write over it, so it is not trusted."""

    values: tuple[str, ...] = ()
    file: str = ""
    line: int = 1
    failure: str = ""


class Runner:
    """Runs the worker under one condition at a time."""

    def __init__(self, target: str, place: Place, scratch: Path) -> None:
        self.target = _absolute(target, place)
        self.place = place
        self.scratch = scratch

    def run(self, number: int, condition: Condition) -> Answer:
        """The worker's answer. Raises RenderError."""
        answer, printed = self.scratch / f"answer-{number}", self.scratch / f"printed-{number}"
        request = {
            "target": self.target,
            "time": condition.time,
            "seed": condition.seed,
            "host": condition.host,
            "answer": str(answer),
            "moved": self._moved(),
        }
        folder, extra = self._folder(number, condition)
        command = [sys.executable, "-P", str(WORKER), orjson.dumps(request).decode()]
        with printed.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=self._environment(number, condition, folder) | extra,
                start_new_session=True,
            )
            try:
                process.wait(self.place.seconds)
            except subprocess.TimeoutExpired:
                raise self._failure(condition, f"not done within {self.place.seconds:g} s") from None
            finally:
                _end(process)
        return self._read(condition, answer, printed, process.returncode)

    def value(self, number: int, condition: Condition, text: str) -> Any:
        """The JSON value, folders made for this run under fixed names, so that results do not change."""
        for folder, name in ((f"elsewhere-{number}", "/elsewhere"), (f"home-{number}", "/home/hitledger-check")):
            text = text.replace(str(self.scratch / folder), name)
        if moved := self._moved():
            text = text.replace(moved[1], moved[0])
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise self._failure(condition, f"the renderer gives something that is not JSON: {error}") from error

    def _read(self, condition: Condition, answer: Path, printed: Path, code: int) -> Answer:
        with printed.open("rb") as stream:
            said = stream.read(MAX_PRINTED).decode(errors="replace")
        if not answer.is_file():
            raise self._failure(condition, f"the process ends before it gives a prompt (code {code})")
        if answer.stat().st_size > MAX_ANSWER_BYTES:
            raise self._failure(condition, f"more than {MAX_ANSWER_BYTES // 2**20} MiB")
        try:
            found = msgspec.json.decode(answer.read_bytes(), type=Answer)
        except msgspec.DecodeError:
            raise self._failure(condition, "the process gives no whole answer") from None
        if found.failure:
            raise self._failure(condition, found.failure)
        if len(found.values) != CALLS:
            raise self._failure(condition, "the process gives no whole answer")
        if said:
            raise self._failure(condition, f"the renderer prints: {said.strip()!r}")
        return found

    def _failure(self, condition: Condition, reason: str) -> RenderError:
        when = "" if condition is REFERENCE else f" ({condition.name} changed)"
        place, _, name = self.target.rpartition(":")
        target = f"{Path(place).name}:{name}" if place.endswith(".py") else self.target
        return RenderError(f"{target}: {reason}{when}")

    def _moved(self) -> tuple[str, str] | None:
        """The work tree and what stands for it."""
        checkout = self.place.checkout
        return None if checkout is None else (str(checkout.root), str(checkout.copy))

    def _folder(self, number: int, condition: Condition) -> tuple[Path, dict[str, str]]:
        if not condition.elsewhere:
            return self.place.folder, {}
        folder = self.scratch / f"elsewhere-{number}"
        links_to(self.place.folder, folder)
        return folder, git_state(folder)

    def _environment(self, number: int, condition: Condition, folder: Path) -> dict[str, str]:
        found = dict(os.environ)
        found.pop("PYTHONSTARTUP", None)
        search = [*self.place.search, str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        found |= {
            "PYTHONPATH": os.pathsep.join(search),
            "PYTHONHASHSEED": str(condition.hash_seed),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PWD": str(folder),
            "TZ": condition.zone,
        }
        if condition.environment:
            home = self.scratch / f"home-{number}"
            home.mkdir()
            found |= condition.environment | {"HOME": str(home), "TMPDIR": str(home)}
            found.setdefault("PYTHONUSERBASE", str(Path.home() / ".local"))
        return found


def _absolute(target: str, place: Place) -> str:
    """A file's path does not depend on the working folder."""
    path, _, name = target.rpartition(":")
    return f"{(place.folder / path).resolve()}:{name}" if path.endswith(".py") else target


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the process and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()
