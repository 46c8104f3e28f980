"""llama.cpp's server under each setting that changes what it keeps: random sessions, and what it says it reused of them."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence

from peers import CONTEXT, Peer

from hitledger.reconcile import reconcile
from hitledger.types import Call, Evidence, Place, Prompt
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
IDS = range(100, 1000)
PADDING = (0,) * CONTEXT
Ids = tuple[int, ...]


def random_prompts(count: int, seed: int) -> Iterator[Ids]:
    """Six sessions take turns: each call grows its session, edits it, cuts it back, repeats it or starts it again."""
    chance = random.Random(seed)

    def some(most: int) -> list[int]:
        return [chance.choice(IDS) for _ in range(chance.randint(1, most))]

    heads = [some(200) for _ in range(2)]
    sessions = [[*chance.choice(heads), *some(100)] for _ in range(6)]
    for _ in range(count):
        number = chance.randrange(len(sessions))
        session = sessions[number]
        match chance.choice(("grow", "grow", "grow", "edit", "cut", "drop", "repeat", "restart", "too long")):
            case "grow":
                session = [*session, *some(120)]
            case "edit":
                session[chance.randrange(len(session))] = chance.choice(IDS)
            case "cut":
                session = session[: chance.randint(1, len(session))]
            case "drop":
                at = chance.randrange(len(session))
                session = [*session[:at], *session[at + chance.randint(1, 60) :]] or some(9)
            case "restart":
                session = [*chance.choice(heads), *some(100)]
            case "too long":
                yield (*session, *PADDING)
        sessions[number] = session
        yield tuple(session)


def replayed(peer: Peer, prompts: Sequence[Ids], flags: str) -> tuple[list[int | None], bool]:
    """The server's cached tokens by prompt, None where it refused one; and whether all are what the rule gives."""
    calls = [
        Call(str(number), "s", "main", Place("f", number), "llama_cpp", "m", Evidence.EXACT, Prompt(()), prompt_ids=ids)
        for number, ids in enumerate(prompts)
    ]
    target = Target(ShippedTokenizer(), max(IDS), None, {})
    measurement = replay_on_server(calls, peer.client, target, ServerOptions(flags=flags))
    found = reconcile(measurement)
    reused = sum(row.measured for row in found.calls)
    print(
        f"{flags:36s} equal on {len(found.calls) - len(found.unequal)} of {len(found.calls)} calls, "
        f"{reused:,} of {sum(row.prompt_tokens for row in found.calls):,} tokens reused, "
        f"{len(measurement.unreplayed)} prompts refused",
        flush=True,
    )
    for row in found.unequal[:3]:
        print(f"  call {row.id}: {row.measured} of {row.prompt_tokens} tokens, expected {row.expected}")
    measured = {row.id: row.measured for row in found.calls}
    return [measured.get(call.id) for call in calls], bool(found.calls) and not found.unequal


def recorded(prompts: Sequence[Ids], cached: Mapping[str, Sequence[int | None]]) -> Iterator[str]:
    """A JSON line a prompt: its ids, how many zeros follow, and the cached tokens by setting."""
    for number, ids in enumerate(prompts):
        padded = ids[-len(PADDING) :] == PADDING
        row = {
            "prompt": ids[: -len(PADDING)] if padded else ids,
            "padding": len(PADDING) if padded else 0,
            "cached": {flags: found[number] for flags, found in cached.items()},
        }
        yield json.dumps(row, separators=(",", ":")) + "\n"
