"""hitledger simulate beside kvcache-simulator (PyPI) on one trace: same capacities, same hit tokens, time and ratio.

    python -m venv peer && peer/bin/pip install kvcache-simulator
    python benchmarks/simulate.py TRACE.jsonl --peer peer/bin/python [--policies lru] [--runs 3]
    python benchmarks/simulate.py FOLDER --conversations 60 --peer peer/bin/python

Both are whole processes, from start to written result, the best of `--runs`; a second ratio leaves out what each needs
for a trace of one request (start-up). Hit counts are compared at capacities that hold every request: with less room the
peer evicts the block it has just inserted and ends short. The peer's C++ backend is compiled before the first timed run.
A folder of kv-cache-tester conversations is written as one trace in the peer's format first. Nothing here is part of the
tests.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hitledger_replay.traces import read_trace
from hitledger_replay.traces.kvtester import read_kvtester

BUDGETS_GIB = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
MODEL = "llama-3.1-8b"
PEER_NAMES = {"lru": "lru", "fifo": "fifo", "belady": "optimal"}


def seconds(command: Sequence[str], runs: int) -> tuple[float, float]:
    """(wall, CPU) of the fastest of `runs` whole processes."""
    best = (float("inf"), float("inf"))
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, (wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return best


def peer_command(
    python: str, trace: str, block_size: int, policies: Sequence[str], backend: str, out: Path
) -> list[str]:
    """The peer's own command line."""
    names = ",".join(PEER_NAMES[policy] for policy in policies)
    budgets = ",".join(str(budget) for budget in BUDGETS_GIB)
    command = [python, "-m", "kvcache_sim", "run", "--trace", trace, "--model", MODEL, "--block-size", str(block_size)]
    command += ["--budgets-gib", budgets, "--policies", names, "--backend", backend, "--no-progress"]
    return [*command, "--format", "json", "--output", str(out)]


def our_command(trace: str, capacities: Sequence[int], policies: Sequence[str], out: Path) -> list[str]:
    """Ours, at the capacities in blocks that the peer made of its budgets."""
    blocks = ",".join([*(str(capacity) for capacity in capacities), "inf"])
    code = "from hitledger_reports.cli import main; main()"
    options = ["--capacity-blocks", blocks, "--policy", ",".join(policies), "--window", "last50", "--json", str(out)]
    return [sys.executable, "-c", code, "simulate", trace, *options]


def merged(folder: Path, conversations: int, out: Path) -> None:
    """Conversations one after the other, their ids kept apart, one request a line."""
    offset = 0
    with out.open("w", encoding="utf-8") as lines:
        for path in sorted(folder.glob("*.json"))[:conversations]:
            trace = read_kvtester(path)
            for request in range(trace.num_requests):
                tokens = int(trace.num_blocks[request]) * trace.block_size
                ids = (trace.blocks(request) + offset).tolist()
                if ids:
                    lines.write(
                        json.dumps({"input_length": tokens, "block_size": trace.block_size, "hash_ids": ids}) + "\n"
                    )
            offset += trace.num_keys


def main() -> None:
    """Time both, compare every hit count, print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--peer", default=sys.executable, help="a Python that has kvcache-simulator")
    parser.add_argument("--block-size", type=int, default=512)
    parser.add_argument("--policies", default="lru")
    parser.add_argument("--backend", default="cpp", choices=("cpp", "python"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--conversations", type=int, default=60)
    options = parser.parse_args()
    policies = options.policies.split(",")
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours, trace, tiny = (
            Path(folder, name) for name in ("peer.json", "ours.json", "trace.jsonl", "one.jsonl")
        )
        if Path(options.trace).is_dir():
            merged(Path(options.trace), options.conversations, trace)
        else:
            trace = Path(options.trace)
        tiny.write_text('{"input_length": 512, "block_size": 512, "hash_ids": [1]}\n')
        times = []
        for path in (tiny, trace):
            peer = peer_command(options.peer, str(path), options.block_size, policies, options.backend, theirs)
            subprocess.run(peer, check=True)  # compiles
            points = json.loads(theirs.read_text())
            command = our_command(str(path), [point["cacheBlocks"] for point in points["points"]], policies, ours)
            times.append((seconds(peer, options.runs), seconds(command, options.runs)))
        rows = {(row["policy"], row["capacity_blocks"]): row for row in json.loads(ours.read_text())["results"]}
        size, largest = trace.stat().st_size, int(read_trace(trace).num_blocks.max())
    (peer_start, our_start), (peer_time, our_time) = times
    wrong = [
        (policy, point["cacheBlocks"])
        for point in points["points"]
        for policy in policies
        if point["cacheBlocks"] >= largest
        and point["results"][PEER_NAMES[policy]]["hitTokens"] != rows[policy, point["cacheBlocks"]]["hit_tokens"]
    ]
    wrong += [("ceiling", None)] * (points["ceiling"]["hitTokens"] != rows[policies[0], None]["hit_tokens"])
    print(f"{options.trace}, {size / 1e6:.1f} MB: {len(points['points'])} capacities, {options.policies}")
    print(f"differing hit counts from {largest} blocks up: {wrong or 'none'}")
    for name, start, whole in (("kvcache-simulator", peer_start, peer_time), ("hitledger", our_start, our_time)):
        print(f"{name}: {whole[0]:.2f} s wall, {whole[1]:.2f} s CPU; start-up {start[1]:.2f} s CPU")
    work = (peer_time[1] - peer_start[1]) / max(our_time[1] - our_start[1], 1e-3)
    whole_ratio = f"{peer_time[0] / our_time[0]:.2f} wall, {peer_time[1] / our_time[1]:.2f} CPU"
    print(f"ratio (peer / hitledger): {whole_ratio}, {work:.2f} CPU without start-up")


if __name__ == "__main__":
    main()
