"""Time to first token of the engine beside transformers' own prefill, vLLM for CPUs and llama.cpp's server.

    python benchmarks/engine.py [--lengths 500,1000,2000,4000] [--runs 2] [--threads 1] [--clock cpu] [--json FILE]
    python benchmarks/engine.py --url http://127.0.0.1:8411 --clock wall

Same CPU, same SmolLM2, same prompts, same number of threads; all engines are up and take turns at each prompt, so that
other load on the machine meets them all, and the fastest of the runs counts. `--clock cpu` counts the processor seconds of
all threads and processes of an engine instead of wall time: on a shared machine only these can be compared. Those of a
server are read from /proc, in steps of 0.01 s, from before the request to its end: one token. What was sent before is cut at
each engine's own step (16 tokens here, 32 in vLLM, 1 in llama.cpp), and what it found is what it says.

A peer that is not installed is left out with the reason; `make vllm` and `make llama` install them. With --url a server that is
running is measured too: it must run the same model and not hold these prompts yet.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from gguf_float32 import write_float32
from peers import Peer, PeerError, llama_server, vllm_server
from pool_memory import pool_memory
from ttft_table import OURS, PLAIN, Row, fastest, fitted, ratios, side_by_side

from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.models.export import export_model
from hitledger_replay.models.load import load_model
from hitledger_replay.models.loaded import LoadedModel
from hitledger_replay.models.smollm2 import smollm2_file
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.sessions.standin import standin_ids

SHARES = (0.0, 0.99, 0.9, 0.5)  # falling: llama.cpp's slot keeps of a prompt what the next one shares with it
BLOCK_SIZE = 16
WARM_UP = 64
OUT = Path("out")
Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


def prompt(length: int, run: int, vocabulary: int) -> tuple[int, ...]:
    return standin_ids(f"bench {length} {run}".encode(), length, vocabulary)


def sharing(ids: tuple[int, ...], share: float, step: int, vocabulary: int) -> tuple[int, ...]:
    """A prompt as long as `ids` that begins with a share of them, in whole steps, and goes on in its own way."""
    kept = int(len(ids) * share) // step * step
    return (*ids[:kept], *standin_ids(f"tail {share} {ids[:9]}".encode(), len(ids) - kept, vocabulary))


@torch.inference_mode()
def plain_prefill(model: Any, ids: tuple[int, ...], clock: Clock) -> float:
    """transformers with its default attention (SDPA) and a cache, logits of the last token only."""
    model.set_attn_implementation("sdpa")
    tokens = torch.tensor([ids], device=model.device)
    begun = clock()
    int(model(tokens, use_cache=True, logits_to_keep=1).logits[0, -1].argmax())
    return clock() - begun


def own_times(loaded: LoadedModel, length: int, run: int, clock: Clock) -> Iterator[Row]:
    ids = prompt(length, run, loaded.vocabulary_size)
    yield Row(PLAIN, length, 0.0, 0, plain_prefill(loaded.model, ids, clock))
    engine = Engine(loaded.model, EngineOptions(4 * (length // BLOCK_SIZE + 2), BLOCK_SIZE), identity=loaded.identity)
    for share in SHARES:
        asked = sharing(ids, share, BLOCK_SIZE, loaded.vocabulary_size) if share else ids
        begun = clock()
        result = engine.run_one(Request(str(share), asked))
        yield Row(OURS, length, share, result.num_cached_tokens, clock() - begun)


def peer_times(peer: Peer, length: int, run: int, vocabulary: int, clock: str) -> Iterator[Row]:
    ids = prompt(length, run, vocabulary)
    for share in SHARES:
        asked = sharing(ids, share, peer.block_size, vocabulary) if share else ids
        begun = peer.processor_seconds() if clock == "cpu" else 0.0
        answer = peer.client.complete(asked)
        seconds = peer.processor_seconds() - begun if clock == "cpu" else answer.ttft
        if answer.cached_tokens is None:
            raise PeerError(f"{peer.name} does not say how many tokens it found")
        yield Row(peer.name, length, share, answer.cached_tokens, seconds)


def started(loaded: LoadedModel, vllm: Path, llama: Path, threads: int) -> Iterator[AbstractContextManager[Peer]]:
    """The peers whose python is there; the reason is printed for one that is not."""
    if vllm.exists():
        export_model(loaded, OUT / "smollm2")
        yield vllm_server(vllm, OUT / "smollm2", threads)
    else:
        print(f"vLLM is left out: there is no {vllm}; `make vllm` installs it")
    if llama.exists():
        whole = OUT / "smollm2-f32.gguf"
        write_float32(smollm2_file(), whole)
        yield llama_server(llama, whole, threads, "--cache-type", "f32", name="llama.cpp float32")
        yield llama_server(llama, smollm2_file(), threads, name="llama.cpp Q4_1")
    else:
        print(f"llama.cpp is left out: there is no {llama}; `make llama` installs it")


def measured(loaded: LoadedModel, peers: list[Peer], lengths: list[int], runs: int, clock: str) -> Iterator[Row]:
    """Every engine in turn, prompt by prompt, behind a short warm-up of each."""
    list(own_times(loaded, WARM_UP, -1, CLOCKS[clock]))
    for peer in peers:
        peer.client.complete(prompt(WARM_UP, -1, loaded.vocabulary_size))
    for length in lengths:
        for run in range(runs):
            yield from own_times(loaded, length, run, CLOCKS[clock])
            for peer in peers:
                yield from peer_times(peer, length, run, loaded.vocabulary_size, clock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="500,1000,2000,4000")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="cpu")
    parser.add_argument("--vllm", type=Path, default=Path(".venv-vllm/bin/python"))
    parser.add_argument("--llama", type=Path, default=Path(".venv-llama/bin/python"))
    parser.add_argument("--url", action="append", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.url and options.clock == "cpu":
        parser.error("--url: the processor seconds of a server that is running are not known; use --clock wall")
    torch.set_num_threads(options.threads)
    loaded = load_model("smollm2", torch.device("cpu"))
    lengths = [int(length) for length in options.lengths.split(",")]
    with ExitStack() as stack:
        peers = [Peer(url, ServerClient(url), 1, None) for url in options.url]
        for starting in started(loaded, options.vllm, options.llama, options.threads):
            try:
                peers.append(stack.enter_context(starting))
            except PeerError as error:
                print(error)
        rows = fastest(measured(loaded, peers, lengths, options.runs, options.clock))
    rows.sort(key=lambda row: (row.num_tokens, row.share))
    print(f"{loaded.name}, {options.threads} threads, {options.clock} seconds, fastest of {options.runs}\n")
    pool = pool_memory(loaded.model, loaded.name, "float32", "fp32", max(lengths), BLOCK_SIZE)
    for line in (*side_by_side(rows), "", *ratios(rows), "", fitted(rows), pool):
        print(line)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
