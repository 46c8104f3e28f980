"""The same prompts through a server and through our engine: equal greedy tokens, and reuse as the server's rule says."""

from pathlib import Path

from peers import Peer

from hitledger.reconcile import reconcile
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.models.loaded import LoadedModel
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.replay import ServerOptions, replay_on_server
from hitledger_replay.sessions.command import read_calls
from hitledger_replay.sessions.lines import measurement_lines
from hitledger_replay.sessions.render import Target
from hitledger_replay.sessions.standin import standin_ids

SCENARIOS = (
    "03-mcp-tools-reordered",
    "06-work-tree-state-in-system",
    "13-tool-result-pruned",
    "17-tool-arguments-resorted",
)
NEW_TOKENS = 12
VOCABULARY = 40_000


def scenario_logs() -> list[str]:
    """Four sessions of 13 calls whose token ids change; their calls interleave in time."""
    fixtures = Path(__file__).parent.parent / "fixtures/scenarios"
    return [str(fixtures / f"{name}.json") for name in SCENARIOS]


def reuse_differs(peer: Peer, loaded: LoadedModel, logs: list[str], flags: str = "") -> bool:
    """All logs as one replay: prompts of different logs may share a prefix, and the server remembers."""
    target = Target(loaded.tokenizer, loaded.vocabulary_size, loaded.chat_template, loaded.special_tokens)
    found = replay_on_server(read_calls(logs, None), peer.client, target, ServerOptions(flags=flags))
    for line in measurement_lines(found):
        print(line)
    for row in found.unreplayed:
        print(f"{row.id} was not replayed: {row.reason}")
    return bool(reconcile(found).unequal or not found.calls)


def tokens_differ(peer: Peer, loaded: LoadedModel) -> bool:
    """Greedy tokens of four prompts, two of which share a prefix; where both keep whole blocks, their cached tokens too."""
    engine = Engine(loaded.model, EngineOptions(4000 // peer.block_size, peer.block_size), identity=loaded.identity)
    base = standin_ids(b"peer", 300, VOCABULARY)
    different = False
    for number, prompt in enumerate((base, (*base[:200], *standin_ids(b"x", 60, VOCABULARY)), base[:97], base)):
        ours = engine.run_one(Request(str(number), prompt, max_new_tokens=NEW_TOKENS))
        ids, cached = generated(peer.client, prompt)
        print(f"prompt {number}: tokens equal: {ids == ours.outputs[0]}, cached {ours.num_cached_tokens} and {cached}")
        different |= ids != ours.outputs[0]
        different |= peer.block_size > 1 and cached != ours.num_cached_tokens
    return different


def generated(client: ServerClient, prompt: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Greedy token ids, and the cached tokens of the prompt, as vLLM gives them or as llama.cpp does."""
    body = {"prompt": list(prompt), "temperature": 0, "ignore_eos": True}
    if client.owner == "llamacpp":
        answer = client.post_json("/completion", {**body, "n_predict": NEW_TOKENS, "return_tokens": True})
        return tuple(answer["tokens"]), int(answer["timings"]["cache_n"])
    asked = {**body, "model": client.model, "max_tokens": NEW_TOKENS, "return_token_ids": True}
    answer = client.post_json("/v1/completions", asked)
    return tuple(answer["choices"][0]["token_ids"]), int(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
