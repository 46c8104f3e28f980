"""Time to first token of the engine beside transformers' own prefill, and beside servers if they are running.

    python benchmarks/engine.py [--model smollm2] [--lengths 500,1000,2000,4000] [--runs 2] [--clock cpu] [--json FILE]
    python benchmarks/engine.py --url http://127.0.0.1:8411 [--url http://127.0.0.1:8412]

Same process, same model, same prompts, same number of threads; engine and transformers take turns, so that other load
on the machine meets both, and the fastest of the runs counts. `--clock cpu` counts processor seconds of all threads
instead of wall time: on a shared machine only these can be compared (a server's are always wall time). Reuse is what
the block rule makes of the share that was asked for. A server must run the same model and not hold these prompts yet.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from hitledger_replay.dtypes import kv_dtype
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.modelconfig import spec_from_config
from hitledger_replay.models.load import load_model
from hitledger_replay.models.loaded import LoadedModel
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.sessions.standin import standin_ids
from hitledger_replay.sessions.ttft import TtftSample, fit
from hitledger_replay.sizing import Layout, physical

SHARES = (0.0, 0.5, 0.9, 0.99)
BLOCK_SIZE = 16
Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Row:
    """Seconds to the first token; `who` is hitledger, transformers or a server's address."""

    who: str
    num_tokens: int
    num_cached: int
    seconds: float


def prompt(length: int, run: int, vocabulary: int) -> tuple[int, ...]:
    return standin_ids(f"bench {length} {run}".encode(), length, vocabulary)


def kept(length: int, share: float) -> int:
    return int(length * share) // BLOCK_SIZE * BLOCK_SIZE


@torch.inference_mode()
def plain_prefill(model: Any, ids: tuple[int, ...], clock: Clock) -> float:
    """transformers with its default attention (SDPA) and a cache, logits of the last token only."""
    model.set_attn_implementation("sdpa")
    tokens = torch.tensor([ids], device=model.device)
    begun = clock()
    int(model(tokens, use_cache=True, logits_to_keep=1).logits[0, -1].argmax())
    return clock() - begun


def engine_times(loaded: LoadedModel, length: int, run: int, clock: Clock) -> Iterator[Row]:
    vocabulary = loaded.vocabulary_size
    ids = prompt(length, run, vocabulary)
    yield Row("transformers", length, 0, plain_prefill(loaded.model, ids, clock))
    engine = Engine(loaded.model, EngineOptions(4 * (length // BLOCK_SIZE + 2), BLOCK_SIZE), identity=loaded.identity)
    for share in SHARES:
        tail = standin_ids(f"tail {share} {run}".encode(), length, vocabulary)[kept(length, share) :]
        begun = clock()
        result = engine.run_one(Request(str(share), (*ids[: kept(length, share)], *tail) if share else ids))
        yield Row("hitledger", length, result.num_cached_tokens, clock() - begun)


def server_times(url: str, length: int, run: int, vocabulary: int) -> Iterator[Row]:
    client, ids = ServerClient(url), prompt(length, run, vocabulary)
    for share in SHARES:
        tail = standin_ids(f"tail {share} {run}".encode(), length, vocabulary)[kept(length, share) :]
        answer = client.complete((*ids[: kept(length, share)], *tail) if share else ids)
        yield Row(url, length, answer.cached_tokens or 0, answer.ttft)


def fastest(rows: list[Row]) -> list[Row]:
    best: dict[tuple[str, int, int], Row] = {}
    for row in rows:
        key = (row.who, row.num_tokens, row.num_cached)
        best[key] = min(best.get(key, row), row, key=lambda r: r.seconds)
    return list(best.values())


def table(rows: list[Row]) -> Iterator[str]:
    cold = {row.num_tokens: row.seconds for row in rows if row.who == "transformers"}
    own = [TtftSample(r.num_tokens, r.num_cached, r.seconds) for r in rows if r.who == "hitledger"]
    model = fit(own)
    yield "| who | prompt | cached | TTFT s | of transformers' cold prefill | 1-h | fitted model |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        hit = row.num_cached / row.num_tokens
        predicted = f"{model.predict(row.num_tokens, row.num_cached):.3f}" if row.who == "hitledger" else "-"
        ratio = row.seconds / cold[row.num_tokens]
        yield (
            f"| {row.who} | {row.num_tokens} | {row.num_cached} | {row.seconds:.3f} | {ratio:.3f} | {1 - hit:.3f} "
            f"| {predicted} |"
        )
    yield (
        f"fit: {model.constant:.4f} + {model.per_token:.3e} (n-p) + {model.per_pair:.3e} (n^2-p^2) s, "
        f"worst error {model.worst_relative_error(own):.0%}"
    )


def memory(loaded: LoadedModel, length: int) -> str:
    """The pool's tensors beside the size table, for one sequence."""
    config = {**loaded.model.config.to_dict(), "dtype": "float32"}
    spec, blocks = spec_from_config(config, loaded.name), -(-length // BLOCK_SIZE)
    sized = physical(spec, length, 1, kv_dtype("fp32"), Layout(BLOCK_SIZE))
    store = Engine(loaded.model, EngineOptions(blocks + 1, BLOCK_SIZE)).store
    held = store.rows.numel() * store.rows.element_size()
    wanted = sized.live + sized.rounding + sized.scales_alignment
    return f"pool for {length} tokens: {held:,} bytes, size table {wanted:,} ({held / wanted - 1:+.2%}, the null block)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--lengths", default="500,1000,2000,4000")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--url", action="append", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    loaded = load_model(options.model, torch.device("cpu"))
    rows: list[Row] = []
    lengths = [int(length) for length in options.lengths.split(",")]
    list(engine_times(loaded, 64, -1, CLOCKS[options.clock]))  # warm-up
    for length in lengths:
        for run in range(options.runs):
            rows.extend(engine_times(loaded, length, run, CLOCKS[options.clock]))
            for url in options.url:
                rows.extend(server_times(url, length, run, loaded.vocabulary_size))
    rows = fastest(rows)
    print(f"{loaded.name}, float32, {options.threads} threads, {options.clock} seconds, fastest of {options.runs}")
    for line in table(rows):
        print(line)
    print(memory(loaded, max(lengths)))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
