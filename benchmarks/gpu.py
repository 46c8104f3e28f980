"""For whoever has a GPU: the `gpu` tests, then times and memory of a 1B-class random model in bf16. Under five minutes.

    python benchmarks/gpu.py [--json FILE]

Prints time to first token at 8k and 32k tokens and 0, 50, 90 and 99 % reuse beside two floors: the time the device's
matrix throughput needs for the uncached tokens' operations, and the time its memory needs to read the weights once and
the cached keys and values once. Both rates are measured here, not taken from a data sheet. Then the time of a decode
step, run plainly and replayed from a recorded graph.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from pool_memory import pool_memory
from transformers import LlamaConfig, LlamaForCausalLM

from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request, RequestResult
from hitledger_replay.prefill import attention_flops, linear_flops
from hitledger_replay.sessions.standin import standin_ids

LENGTHS = (8192, 32768)
SHARES = (0.0, 0.5, 0.9, 0.99)
BLOCK_SIZE = 256
RUNS = 3
VOCABULARY = 32_000
DECODES, DECODE_PROMPT, DECODE_TOKENS = 8, 1024, 65


@dataclass(frozen=True)
class Row:
    """Seconds; `compute_floor` and `byte_floor` are what the measured rates of the device allow at best."""

    num_tokens: int
    num_cached: int
    ttft: float
    compute_floor: float
    byte_floor: float


def random_model(device: torch.device) -> Any:
    """Llama of 1.1 billion parameters: 22 layers, 32 query and 4 KV heads."""
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=22,
        num_attention_heads=32,
        num_key_value_heads=4,
        max_position_embeddings=max(LENGTHS) + 16,
        dtype="bfloat16",
    )
    with torch.device(device):
        model: Any = LlamaForCausalLM(config)
    return model.to(torch.bfloat16).eval()


def seconds_of(work: Callable[[], object], runs: int = 5) -> float:
    """The fastest of some runs, the device waited for."""
    best = float("inf")
    for _ in range(runs):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begun)
    return best


def rates(device: torch.device) -> tuple[float, float]:
    """Operations a second of a bf16 matrix product, bytes a second of a copy (read and write counted)."""
    a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    flops = 2 * 8192**3 / seconds_of(lambda: a @ a)
    block = torch.empty(1 << 30, dtype=torch.uint8, device=device)
    return flops, 2 * block.numel() / seconds_of(block.clone)


def measured(model: Any, device: torch.device) -> Iterator[Row]:
    flops, bandwidth = rates(device)
    config = model.config
    layers = sum(weight.numel() for weight in model.model.layers.parameters())
    weight_bytes = 2 * sum(weight.numel() for weight in model.parameters())
    for length in LENGTHS:
        blocks = (2 + len(SHARES)) * RUNS * (length // BLOCK_SIZE + 1)
        engine = Engine(model, EngineOptions(blocks, BLOCK_SIZE, token_budget=8192))
        token_bytes = engine.store.block_bytes // BLOCK_SIZE
        base = standin_ids(b"gpu base", length, VOCABULARY)
        engine.run_one(Request("warm-up", base[: BLOCK_SIZE + 1], salt="warm-up"))
        for share in SHARES:
            kept = int(length * share) // BLOCK_SIZE * BLOCK_SIZE
            times = []
            for run in range(RUNS):
                tail = standin_ids(f"gpu {share} {run}".encode(), length - kept, VOCABULARY)
                prompt = (*base[:kept], *tail) if share else base
                salt = f"cold {run}" if not share else "cold 0"
                result = engine.run_one(Request(f"{share} {run}", prompt, salt=salt))
                times.append((result.first_token.ttft, result.num_cached_tokens))
            ttft, cached = min(times)
            work = linear_flops(length, cached, layers, config.hidden_size, VOCABULARY)
            work += attention_flops(length, cached, config.num_hidden_layers, 32, 64)
            yield Row(length, cached, ttft, work / flops, (weight_bytes + length * token_bytes) / bandwidth)


def decoded(model: Any, graphs: bool) -> tuple[float, list[tuple[int, ...]], int]:
    """Seconds a step of eight sequences at once, what they said, and how many steps were plain in spite of `graphs`."""
    blocks = DECODES * ((DECODE_PROMPT + DECODE_TOKENS) // BLOCK_SIZE + 2)
    engine = Engine(
        model, EngineOptions(blocks, BLOCK_SIZE, token_budget=DECODES * DECODE_PROMPT, decode_graphs=graphs)
    )
    for salt in ("record", "time"):
        for number in range(DECODES):
            ids = standin_ids(f"decode {number}".encode(), DECODE_PROMPT, VOCABULARY)
            engine.submit(Request(str(number), ids, max_new_tokens=DECODE_TOKENS, salt=salt))
        engine.step()
        results: list[RequestResult] = []
        begun, steps = time.perf_counter(), 0
        while len(results) < DECODES:
            results.extend(engine.step())
            steps += 1
        seconds = time.perf_counter() - begun
    results.sort(key=lambda result: result.id)
    return seconds / steps, [result.outputs[0] for result in results], sum(r.num_plain_decodes for r in results)


def decode_line(model: Any) -> str:
    plain, said, _ = decoded(model, graphs=False)
    held, repeated, num_plain = decoded(model, graphs=True)
    return (
        f"decode, {DECODES} sequences of {DECODE_PROMPT} tokens: {1000 * plain:.2f} ms a step, {1000 * held:.2f} ms "
        f"replayed ({plain / held:.2f} times as fast); tokens {'equal' if said == repeated else 'DIFFER'}, "
        f"{num_plain} steps not held"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no CUDA device here: nothing was measured")
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", "gpu"], check=False, timeout=200)
    print(f"gpu tests: {'passed' if tests.returncode == 0 else f'FAILED, exit {tests.returncode}'}")
    device = torch.device("cuda")
    model = random_model(device)
    print(torch.cuda.get_device_name(), "random Llama 1.1B, bf16, blocks of", BLOCK_SIZE)
    print("| prompt | cached | TTFT ms | compute floor ms | byte floor ms | TTFT / larger floor |")
    print("|---|---|---|---|---|---|")
    rows = []
    for row in measured(model, device):
        rows.append(row)
        floor = max(row.compute_floor, row.byte_floor)
        figures = (row.ttft, row.compute_floor, row.byte_floor)
        cells = " | ".join(f"{1000 * seconds:.2f}" for seconds in figures)
        print(f"| {row.num_tokens} | {row.num_cached} | {cells} | {row.ttft / floor:.2f} |")
    print(pool_memory(model, "random", "bfloat16", "bf16", LENGTHS[-1], BLOCK_SIZE))
    print(decode_line(model))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    sys.exit(tests.returncode)


if __name__ == "__main__":
    main()
