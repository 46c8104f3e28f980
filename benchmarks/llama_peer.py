"""The same prompts through llama.cpp's server and through our engine and its simulator of that server.

    python benchmarks/llama_peer.py --python .venv-llama/bin/python [--calls 60] [--record FILE] [LOG…]

SmolLM2 with float32 weights, keys and values: greedy tokens equal our engine's, and the logs (default: scenarios whose
token ids change) reuse what the rule says. Then, for each setting of the server that changes what it keeps, sessions made
at random: many share a system prompt, grow, are edited and come back, some prompts are too long. These run on the model's
first layer alone: what is reused does not depend on the weights. `make llama` installs the server into a virtual
environment of its own and runs this; some minutes. Exits 1 if any call differs. `--record` writes what the server said.
"""

import argparse
import sys
from pathlib import Path

import torch
from gguf_float32 import write_float32
from llama_settings import SETTINGS, random_prompts, recorded, replayed
from peer_sessions import reuse_differs, scenario_logs, tokens_differ
from peers import PeerError, llama_server

from hitledger_replay.models.load import load_model
from hitledger_replay.models.smollm2 import smollm2_file

WHOLE_MODEL = Path("out/smollm2-f32.gguf")
FIRST_LAYER = Path("out/smollm2-1layer.gguf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*")
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    write_float32(smollm2_file(), WHOLE_MODEL)
    write_float32(smollm2_file(), FIRST_LAYER, layers=1)
    loaded = load_model("smollm2", torch.device("cpu"))
    prompts = list(random_prompts(options.calls, seed=7))
    try:
        with llama_server(options.python, WHOLE_MODEL, 1, "--cache-type", "f32") as peer:
            different = tokens_differ(peer, loaded)
        with llama_server(options.python, WHOLE_MODEL, 1, "--cache-type", "f32") as peer:
            different |= reuse_differs(peer, loaded, options.logs or scenario_logs())
        print()
        cached: dict[str, list[int | None]] = {}
        for flags in SETTINGS:
            with llama_server(options.python, FIRST_LAYER, 1, *flags.split()) as peer:
                cached[flags], equal = replayed(peer, prompts, flags)
                different |= not equal
    except PeerError as error:
        sys.exit(str(error))
    if options.record:
        options.record.write_text("".join(recorded(prompts, cached)), encoding="utf-8")
    print("\ndifferences found" if different else "\nequal on every call")
    sys.exit(different)


if __name__ == "__main__":
    main()
