"""The same prompts through llama.cpp's server and through our engine and its simulator of that server.

    python benchmarks/llama_peer.py --python .venv-llama/bin/python [--calls 60] [LOG…]

SmolLM2 with float32 weights, keys and values: greedy tokens equal our engine's, and the logs (default: scenarios whose
token ids change) reuse what the rule says. Then, for each setting of the server that changes what it keeps, sessions made
at random: many share a system prompt, grow, are edited and come back, some prompts are too long. These run on the model's
first layer alone: what is reused does not depend on the weights. `make llama` installs the server into a virtual
environment of its own and runs this; some minutes. Exits 1 if any call differs.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from gguf_float32 import write_float32
from peer_sessions import reuse_differs, scenario_logs, tokens_differ
from peers import CONTEXT, PeerError, llama_server

from hitledger.reconcile import reconcile
from hitledger.types import Call, Evidence, Place, Prompt
from hitledger_replay.models.load import load_model
from hitledger_replay.models.smollm2 import smollm2_file
from hitledger_replay.models.tiny import ShippedTokenizer
from hitledger_replay.servers.replay import ServerOptions, replay_on_server
from hitledger_replay.sessions.render import Target

SETTINGS = (
    "-np 1",
    "-np 1 --cache-ram 0",
    "-np 2",
    "-np 3 --no-cache-idle-slots",
    "-np 4 -kvu",
    "-np 2 --slot-prompt-similarity 0.5",
    "-np 1 --cache-reuse 16",
    "-np 2 --cache-reuse 64",
)
WHOLE_MODEL = Path("out/smollm2-f32.gguf")
FIRST_LAYER = Path("out/smollm2-1layer.gguf")
VOCABULARY = 40_000


def random_prompts(count: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Six sessions take turns: each call grows its session, edits it, cuts it back, repeats it or starts it again."""
    chance = random.Random(seed)

    def some(most: int) -> list[int]:
        return [chance.randrange(VOCABULARY) for _ in range(chance.randint(1, most))]

    heads = [some(200) for _ in range(2)]
    sessions = [[*chance.choice(heads), *some(100)] for _ in range(6)]
    for _ in range(count):
        number = chance.randrange(len(sessions))
        session = sessions[number]
        match chance.choice(("grow", "grow", "grow", "edit", "cut", "drop", "repeat", "restart", "long")):
            case "grow":
                session = [*session, *some(120)]
            case "edit":
                session[chance.randrange(len(session))] = chance.randrange(VOCABULARY)
            case "cut":
                session = session[: chance.randint(1, len(session))]
            case "drop":
                at = chance.randrange(len(session))
                session = [*session[:at], *session[at + chance.randint(1, 60) :]] or some(9)
            case "restart":
                session = [*chance.choice(heads), *some(100)]
            case "long":
                yield (*session, *(chance.randrange(VOCABULARY) for _ in range(CONTEXT)))
        sessions[number] = session
        yield tuple(session)


def setting_differs(python: Path, flags: str, count: int) -> bool:
    """One server with these flags, the same prompts each time."""
    calls = [
        Call(str(n), "s", "main", Place("f", n), "llama_cpp", "m", Evidence.EXACT, Prompt(()), prompt_ids=prompt)
        for n, prompt in enumerate(random_prompts(count, seed=7), 1)
    ]
    with llama_server(python, FIRST_LAYER, 1, *flags.split()) as peer:
        target = Target(ShippedTokenizer(), VOCABULARY, None, {})
        replayed = replay_on_server(calls, peer.client, target, ServerOptions(flags=flags))
    found = reconcile(replayed)
    reused = sum(row.measured for row in found.calls)
    print(
        f"{flags:36s} equal on {len(found.calls) - len(found.unequal)} of {len(found.calls)} calls, "
        f"{reused:,} of {sum(row.prompt_tokens for row in found.calls):,} tokens reused, "
        f"{len(replayed.unreplayed)} prompts refused",
        flush=True,
    )
    for row in found.unequal[:3]:
        print(f"  call {row.id}: {row.measured} of {row.prompt_tokens} tokens, expected {row.expected}")
    return bool(found.unequal or not found.calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*")
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=80)
    options = parser.parse_args()
    torch.set_num_threads(1)
    write_float32(smollm2_file(), WHOLE_MODEL)
    write_float32(smollm2_file(), FIRST_LAYER, layers=1)
    loaded = load_model("smollm2", torch.device("cpu"))
    try:
        with llama_server(options.python, WHOLE_MODEL, 1, "--cache-type", "f32") as peer:
            different = tokens_differ(peer, loaded)
        with llama_server(options.python, WHOLE_MODEL, 1, "--cache-type", "f32") as peer:
            different |= reuse_differs(peer, loaded, options.logs or scenario_logs())
        print()
        for flags in SETTINGS:
            different |= setting_differs(options.python, flags, options.calls)
    except PeerError as error:
        sys.exit(str(error))
    print("\ndifferences found" if different else "\nequal on every call")
    sys.exit(different)


if __name__ == "__main__":
    main()
