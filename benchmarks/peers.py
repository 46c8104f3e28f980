"""Other engines as servers on 127.0.0.1: started, asked, timed by the processor seconds of their processes, ended by id."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.errors import ServerError

VLLM_BLOCK_SIZE = 32  # vLLM on CPUs takes multiples of 32
CONTEXT = 4352
START_SECONDS = 600
TICKS = os.sysconf("SC_CLK_TCK")
LLAMA_SERVER = Path(__file__).with_name("llama_server.py")


class PeerError(Exception):
    """A peer that did not start."""


@dataclass(frozen=True)
class Peer:
    """A server that is up. `block_size`: in what steps it reuses; `pid` None: not ours."""

    name: str
    client: ServerClient
    block_size: int
    pid: int | None

    def processor_seconds(self) -> float:
        """Of its process and all below it, user and system, since they started."""
        assert self.pid is not None, "the processor seconds of a server that was not started here are not known"
        return sum(_ticks(pid) for pid in _tree(self.pid)) / TICKS


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat behind the name: state, parent, …; empty for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []


def _ticks(pid: int) -> int:
    """User and system time, own and of children that have ended (fields 14 to 17 of proc(5))."""
    return sum(int(value) for value in _stat(pid)[11:15])


def _tree(root: int) -> set[int]:
    parents = {int(entry.name): _stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found, size = {root}, 0
    while len(found) > size:
        size = len(found)
        found |= {pid for pid, fields in parents.items() if fields and int(fields[1]) in found}
    return found


@contextmanager
def vllm_server(python: Path, folder: Path, threads: int) -> Iterator[Peer]:
    """vLLM for CPUs on a folder in transformers' format, in float32. Raises PeerError."""
    port = _free_port()
    command = [
        *(str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder.absolute())),
        *("--served-model-name", "smollm2", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"),
        *("--max-model-len", str(CONTEXT), "--max-num-seqs", "4", "--enforce-eager"),
        *("--enable-prompt-tokens-details", "--block-size", str(VLLM_BLOCK_SIZE)),
    ]
    settings = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": str(threads),
    }
    with _started("vLLM float32", command, settings, port, folder.parent / "vllm.log", VLLM_BLOCK_SIZE) as peer:
        yield peer


@contextmanager
def llama_server(python: Path, gguf: Path, threads: int, *flags: str, name: str = "llama.cpp") -> Iterator[Peer]:
    """llama.cpp's server on a GGUF file. Raises PeerError."""
    port = _free_port()
    command = [
        *(str(python), str(LLAMA_SERVER), "-m", str(gguf), "--port", str(port), "-t", str(threads)),
        *("-c", str(CONTEXT), *flags),
    ]
    with _started(name, command, {}, port, Path("out/llama.log"), 1) as peer:
        yield peer


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _started(
    name: str, command: list[str], settings: dict[str, str], port: int, log: Path, block_size: int
) -> Iterator[Peer]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=out, stderr=subprocess.STDOUT)
    try:
        client = ServerClient(f"http://127.0.0.1:{port}")
        _wait(process, client, name, log)
        yield Peer(name, client, block_size, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait(process: subprocess.Popen[bytes], client: ServerClient, name: str, log: Path) -> None:
    for _ in range(START_SECONDS // 2):
        if process.poll() is not None:
            raise PeerError(f"{name} did not start; see {log}")
        try:
            client.get_json("/v1/models")
        except ServerError:
            time.sleep(1)
        else:
            return
    raise PeerError(f"{name} was not up after {START_SECONDS} s; see {log}")
