"""Runs alone, in a process of its own: calls a renderer twice and writes what came of it. Never imported.

It is started a dozen times for a check, so it loads only what it needs.
"""

import importlib
import json
import os
import random
import resource
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

sys.modules["pytest"] = None  # type: ignore[assignment]  # time_machine would load it, and it takes longer than all else
import time_machine

del sys.modules["pytest"]

CALLS = 2
MAX_MESSAGE = 2000
MAX_FILE_BYTES = 256 * 2**20  # of whatever the renderer writes: also of what it prints


def inside(file: str, folder: str) -> bool:
    """Whether a file is one of a project's own: installed packages may lie in its folder and are not."""
    return Path(file).is_relative_to(folder) and "site-packages" not in file and file != __file__


def use_copy(root: str, copy: str) -> None:
    """Look for modules in the copy of a work tree instead of in the work tree."""
    sys.path[:] = [copy + entry[len(root) :] if inside(entry, root) else entry for entry in sys.path]


def not_from_copy(root: str) -> str:
    """A module that came from the work tree all the same, "" where none did."""
    files = (getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))
    return next((os.path.relpath(file, root) for file in files if file and inside(file, root)), "")


def load(target: str) -> tuple[ModuleType, Any]:
    """`module:function` or `file.py:function`."""
    place, _, name = target.rpartition(":")
    if place.endswith(".py"):
        path = Path(place)
        sys.path.insert(0, str(path.parent))
        from importlib.util import module_from_spec, spec_from_file_location

        spec = spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{place} cannot be imported")
        module = module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    return module, found


def line_of(function: Any) -> tuple[str, int]:
    """Where the function stands, behind its decorators; ("", 1) for what has no code of its own."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 1)


def rendered(target: str, moved: list[str] | None) -> dict[str, Any]:
    """The values as JSON texts, or what went wrong."""
    try:
        if moved:
            use_copy(*moved)
        _, function = load(target)
        file, line = line_of(function)
        values = [function() for _ in range(CALLS)]
    except SystemExit as error:
        return {"failure": f"the renderer exits (code {error.code!r})"}
    except BaseException as error:  # noqa: BLE001 - whatever the renderer raises is what the user has to see
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        file = last.tb_frame.f_code.co_filename if last is not None else __file__
        own = file == __file__ or file.startswith("<frozen")
        place = f" at {Path(file).name}:{last.tb_lineno}" if last is not None and not own else ""
        said = str(error)[:MAX_MESSAGE].encode(errors="replace").decode()
        return {"failure": f"the renderer raises {type(error).__name__}: {said}{place}"}
    if moved and (stale := not_from_copy(moved[0])):
        return {"failure": f"{stale} is imported from the work tree, not from the revision"}
    try:
        texts = [json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values]
        "".join(texts).encode()  # half a surrogate pair is no text
    except (TypeError, ValueError, RecursionError) as error:
        return {"failure": f"the renderer gives something that is not JSON: {error}"[:MAX_MESSAGE]}
    return {"values": texts, "file": file, "line": line}


def main() -> None:
    """Arguments: the request as JSON, and the file that takes the answer."""
    request = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    random.seed(request["seed"])
    if request["host"]:
        import socket

        socket.gethostname = lambda: str(request["host"])
    with time_machine.travel(request["time"], tick=False):
        answer = rendered(request["target"], request["moved"])
    Path(request["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # threads and exit handlers of the renderer are not waited for


if __name__ == "__main__":
    main()
