"""The same prompts through vLLM on this CPU and through our engine: equal reuse on every call, equal greedy tokens.

    python benchmarks/vllm_peer.py --python .venv-vllm/bin/python [--folder out/smollm2] [LOG…]

Exports SmolLM2 as a folder, starts vLLM's server on 127.0.0.1, replays the logs (default: scenarios whose token ids
change), and stops it. `make vllm` installs vLLM into a virtual environment of its own and runs this. Needs about 5 GB of memory
and disk, and some minutes. Exits 1 on the first difference.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from hitledger.reconcile import reconcile
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.models.export import export_model
from hitledger_replay.models.load import load_model
from hitledger_replay.models.loaded import LoadedModel
from hitledger_replay.servers.client import ServerClient, ServerError
from hitledger_replay.servers.replay import ServerOptions, replay_on_server
from hitledger_replay.sessions.command import read_calls
from hitledger_replay.sessions.lines import measurement_lines
from hitledger_replay.sessions.render import Target
from hitledger_replay.sessions.standin import standin_ids

PORT = 8411
BLOCK_SIZE = 32  # vLLM on CPUs takes multiples of 32
CONTEXT = 4096
START_SECONDS = 600
SCENARIOS = (
    "03-mcp-tools-reordered",
    "06-work-tree-state-in-system",
    "13-tool-result-pruned",
    "17-tool-arguments-resorted",
)
NEW_TOKENS = 12


@contextmanager
def vllm_server(python: str, folder: Path) -> Iterator[ServerClient]:
    """vLLM's server on a port of this machine, ended by its process id."""
    command = [
        *(python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder), "--served-model-name", "smollm2"),
        *("--host", "127.0.0.1", "--port", str(PORT), "--dtype", "float32", "--max-model-len", str(CONTEXT)),
        *("--max-num-seqs", "4", "--enforce-eager", "--enable-prompt-tokens-details", "--block-size", str(BLOCK_SIZE)),
    ]
    settings = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "OMP_NUM_THREADS": "2",
    }
    log = folder.parent / "vllm.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield _when_up(process, log)
        finally:
            process.terminate()
            process.wait(timeout=60)


def _when_up(process: subprocess.Popen[bytes], log: Path) -> ServerClient:
    client = ServerClient(f"http://127.0.0.1:{PORT}")
    for _ in range(START_SECONDS // 2):
        if process.poll() is not None:
            sys.exit(f"vLLM did not start; see {log}")
        try:
            print(f"vLLM serves {client.model}", flush=True)
            return client
        except ServerError:
            time.sleep(1)
    sys.exit(f"vLLM was not up after {START_SECONDS} s; see {log}")


def reuse_differs(client: ServerClient, loaded: LoadedModel, logs: list[str]) -> bool:
    """All logs as one replay: prompts of different logs may share a prefix, and the server remembers."""
    target = Target(loaded.tokenizer, loaded.vocabulary_size, loaded.chat_template, loaded.special_tokens)
    found = replay_on_server(read_calls(logs, None), client, target, ServerOptions())
    for line in measurement_lines(found):
        print(line)
    return bool(reconcile(found).unequal or not found.calls)


def tokens_differ(client: ServerClient, loaded: LoadedModel) -> bool:
    """Greedy tokens of four prompts, two of which share a prefix."""
    engine = Engine(loaded.model, EngineOptions(256, BLOCK_SIZE), identity=loaded.identity)
    base = standin_ids(b"peer", 300, 40_000)
    different = False
    for number, prompt in enumerate((base, (*base[:200], *standin_ids(b"x", 60, 40_000)), base[:97], base)):
        ours = engine.run_one(Request(str(number), prompt, max_new_tokens=NEW_TOKENS))
        body = {"model": client.model, "prompt": list(prompt), "max_tokens": NEW_TOKENS, "temperature": 0,
                "return_token_ids": True, "ignore_eos": True}  # fmt: skip
        theirs = client.post_json("/v1/completions", body)
        ids = tuple(theirs["choices"][0]["token_ids"])
        cached = theirs["usage"]["prompt_tokens_details"]["cached_tokens"]
        print(f"prompt {number}: tokens equal: {ids == ours.outputs[0]}, cached {ours.num_cached_tokens} and {cached}")
        different |= ids != ours.outputs[0] or cached != ours.num_cached_tokens
    return different


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*")
    parser.add_argument("--python", required=True)
    parser.add_argument("--folder", type=Path, default=Path("out/smollm2"))
    options = parser.parse_args()
    torch.set_num_threads(2)
    loaded = load_model("smollm2", torch.device("cpu"))
    export_model(loaded, options.folder)
    fixtures = Path(__file__).parent.parent / "fixtures/scenarios"
    logs = options.logs or [str(fixtures / f"{name}.json") for name in SCENARIOS]
    with vllm_server(options.python, options.folder.absolute()) as client:
        different = tokens_differ(client, loaded) | reuse_differs(client, loaded, logs)
    print("\ndifferences found" if different else "\nequal on every call")
    sys.exit(different)


if __name__ == "__main__":
    main()
