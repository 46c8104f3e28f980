"""The same prompts through vLLM on this CPU and through our engine: equal reuse on every call, equal greedy tokens.

    python benchmarks/vllm_peer.py --python .venv-vllm/bin/python [--folder out/smollm2] [LOG…]

Exports SmolLM2 as a folder, starts vLLM's server on 127.0.0.1, replays the logs (default: scenarios whose token ids
change), and stops it. `make vllm` installs vLLM into a virtual environment of its own and runs this. Needs about 5 GB of memory
and disk, and some minutes. Exits 1 on the first difference.
"""

import argparse
import sys
from pathlib import Path

import torch
from peer_sessions import reuse_differs, scenario_logs, tokens_differ
from peers import PeerError, vllm_server

from hitledger_replay.models.export import export_model
from hitledger_replay.models.load import load_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*")
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=Path("out/smollm2"))
    options = parser.parse_args()
    torch.set_num_threads(2)
    loaded = load_model("smollm2", torch.device("cpu"))
    export_model(loaded, options.folder)
    try:
        with vllm_server(options.python, options.folder, 2) as peer:
            different = tokens_differ(peer, loaded) | reuse_differs(peer, loaded, options.logs or scenario_logs())
    except PeerError as error:
        sys.exit(str(error))
    print("\ndifferences found" if different else "\nequal on every call")
    sys.exit(different)


if __name__ == "__main__":
    main()
