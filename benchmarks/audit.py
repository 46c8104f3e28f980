"""hitledger audit beside a bare `json.loads` loop over the same lines and beside ccusage; then full prompts by size.

    python benchmarks/audit.py [--tree FOLDER] [--runs 5] [--no-peer]

First part: the tree of made-up transcripts (`transcripts.py`, written to a temporary folder unless `--tree` names one).
The programs take turns, each a whole process from start to printed report; its CPU seconds (user + system) and its peak
memory are the kernel's own figures. A ratio is that of two neighbouring runs; the median is shown with the range.
ccusage is installed from npm into a folder of its own; where that fails, it is left out and the reason said.

Second part: request bodies that carry the whole prompt again with every call, in sessions of growing length, and what
their audit takes for each further megabyte. Third part: transcripts of growing length that are never compacted, and what
their audit takes for each further call. Nothing here is part of the tests.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from transcripts import lines_of_code, write_long, write_tree

PEER = "ccusage@20.0.24"
LOOP = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    with path.open("rb") as lines:
        for line in lines:
            json.loads(line)
"""
AUDIT = "from hitledger_reports.program import run; run()"
SESSIONS, CALLS = 160, 240
LENGTHS = (1, 80, 160, 320, 640)  # calls of a session of full prompts; the first is what a start takes
LINES_A_CALL = 40
LONG = (1, 2_000, 4_000, 8_000, 16_000)  # calls of a transcript


@dataclass(frozen=True, slots=True)
class Run:
    """One whole process."""

    cpu_seconds: float  # user + system, with those of its own children
    peak_mb: float


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Run:
    """Run a command with its output thrown away. Raises SystemExit where it fails.

    Python may keep its bytecode, as it does for whoever has not forbidden it: else each run would compile the program.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**inherited, **(environment or {})})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:3])} … failed with exit code {process.returncode}")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def audit_command(logs: Path) -> list[str]:
    """Ours."""
    return [sys.executable, "-c", AUDIT, "audit", str(logs)]


def peer_command(folder: Path) -> list[str] | str:
    """ccusage, installed into the folder; the reason where that cannot be."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return "npm is not installed"
    install = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), PEER]
    if subprocess.run(install, check=False, capture_output=True).returncode:
        return f"npm could not install {PEER}"
    return [node, str(folder / "node_modules/ccusage/src/cli.js"), "daily", "--offline"]


def beside(tree: Path, folder: Path, runs: int, with_peer: bool) -> list[str]:
    """The table of the first part."""
    (folder / "projects").symlink_to(tree.resolve(), target_is_directory=True)
    commands: dict[str, tuple[list[str], dict[str, str]]] = {
        "json.loads loop": ([sys.executable, "-c", LOOP, str(tree)], {}),
        "hitledger audit": (audit_command(tree), {}),
    }
    peer = peer_command(folder) if with_peer else "not asked for"
    if not isinstance(peer, str):
        commands[PEER] = (peer, {"CLAUDE_CONFIG_DIR": str(folder), "HOME": str(folder)})
    for command, environment in commands.values():  # nothing is timed with cold caches
        run(command, environment)
    found: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, (command, environment) in commands.items():
            found[name].append(run(command, environment))
    base = [one.cpu_seconds for one in found["json.loads loop"]]
    lines = ["| program | CPU seconds | times the loop | peak memory |", "|---|---:|---:|---:|"]
    for name, these in found.items():
        ratios = [one.cpu_seconds / loop for one, loop in zip(these, base, strict=True)]
        cpu, peak = median(one.cpu_seconds for one in these), max(one.peak_mb for one in these)
        lines.append(
            f"| {name} | {cpu:.2f} | {median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) | {peak:.0f} MB |"
        )
    return [*lines, *([f"{PEER} was left out: {peer}."] if isinstance(peer, str) else [])]


def write_bodies(path: Path, calls: int) -> None:
    """One session of requests, each with the whole conversation so far."""
    random = Random(calls)
    code = lines_of_code(random, 4_000)
    messages: list[dict[str, object]] = []
    system = [{"type": "text", "text": "\n".join(code[:400]), "cache_control": {"type": "ephemeral"}}]
    read = 0
    with path.open("w", encoding="utf-8") as out:
        for number in range(calls):
            start = random.randrange(len(code) - LINES_A_CALL)
            messages.append({"role": "user", "content": "\n".join(code[start : start + LINES_A_CALL])})
            prompt = 4_000 + 400 * len(messages)
            usage = {"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": prompt - read}
            read = prompt
            request = {"model": "claude-sonnet-4-5", "max_tokens": 512, "system": system, "messages": messages}
            response = {"id": f"msg_{number}", "usage": usage | {"output_tokens": 60}, "content": []}
            clock = f"2026-01-05T{number // 60:02}:{number % 60:02}:00Z"
            row = {"timestamp": clock, "session_id": "bodies", "request": request, "response": response}
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
            messages.append({"role": "assistant", "content": f"Done with part {number}."})


def by_size(folder: Path, runs: int) -> list[str]:
    """The table of the second part."""
    lines = ["| calls | MB | CPU seconds | seconds for each MB beyond the start |", "|---:|---:|---:|---:|"]
    start = (0.0, 0.0)
    for calls in LENGTHS:
        path = folder / f"bodies-{calls}.jsonl"
        write_bodies(path, calls)
        size = path.stat().st_size / 1e6
        cpu = median(run(audit_command(path)).cpu_seconds for _ in range(runs))
        if calls == LENGTHS[0]:
            start = (size, cpu)
            lines.append(f"| {calls} | {size:.2f} | {cpu:.2f} | |")
        else:
            lines.append(f"| {calls} | {size:.2f} | {cpu:.2f} | {(cpu - start[1]) / (size - start[0]):.4f} |")
    return lines


def by_calls(folder: Path, runs: int) -> list[str]:
    """The table of the third part."""
    lines = ["| calls | CPU seconds | milliseconds for each call beyond the start |", "|---:|---:|---:|"]
    start = 0.0
    for calls in LONG:
        path = folder / f"long-{calls}.jsonl"
        write_long(path, calls)
        cpu = median(run(audit_command(path)).cpu_seconds for _ in range(runs))
        start = start or cpu
        each = f"{1000 * (cpu - start) / calls:.3f}" if calls > 1 else ""
        lines.append(f"| {calls:,} | {cpu:.2f} | {each} |")
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="written there if it does not exist; kept")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-peer", action="store_true", help="leave ccusage out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tree = arguments.tree or folder / "tree"
        if not tree.exists():
            write_tree(tree, SESSIONS, CALLS)
        print("\n".join(beside(tree, folder, arguments.runs, not arguments.no_peer)), flush=True)
        print("\n" + "\n".join(by_size(folder, arguments.runs)), flush=True)
        print("\n" + "\n".join(by_calls(folder, arguments.runs)))


if __name__ == "__main__":
    main()
