"""Real servers, if one is running: their reuse is what our rule for them says, on every call.

HITLEDGER_VLLM_URL=http://127.0.0.1:8411 HITLEDGER_LLAMA_URL=http://127.0.0.1:8412 pytest tests/test_peer_servers.py
"""

import os
from pathlib import Path

import pytest

from hitledger.audit import with_unique_ids
from hitledger.logs.read import read_logs
from hitledger.reconcile import reconcile
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.replay import ServerOptions, replay_on_server
from hitledger_replay.servers.tokenizer import ServerTokenizer
from hitledger_replay.sessions.render import Target

SCENARIOS = Path(__file__).parent.parent / "fixtures/scenarios"


@pytest.mark.parametrize(("engine", "variable"), [("vllm", "HITLEDGER_VLLM_URL"), ("llama.cpp", "HITLEDGER_LLAMA_URL")])
@pytest.mark.parametrize("name", ["04-tools-added-mid-session", "18-mid-conversation-system-hoisted"])
def test_a_running_server_does_what_its_rule_says(engine: str, variable: str, name: str) -> None:
    url = os.environ.get(variable)
    if not url:
        pytest.skip(f"{variable} names no server")
    client = ServerClient(url)
    calls = tuple(with_unique_ids(read_logs([str(SCENARIOS / f"{name}.json")]).calls()))
    target = Target(ServerTokenizer(client), 32_000, None, {})
    found = reconcile(replay_on_server(calls, client, target, ServerOptions(engine)))
    assert len(found.calls) == len(calls)
    found.require_equal()


def test_usage_as_vllm_writes_it_in_three_shapes() -> None:
    """(input, uncached, read, written, output) of real replies: two shapes count the cached tokens in, one counts them out."""
    calls = list(read_logs([str(SCENARIOS.parent / "vllm/served.jsonl")]).calls())
    found = []
    for call in calls:
        usage = call.usage
        assert usage is not None
        classes = (usage.uncached_input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
        found.append((call.api, usage.input_tokens, *classes))
    assert found == [
        ("chat", 230, 230, 0, None, 8),
        ("chat", 248, 24, 224, None, 5),
        ("messages", 231, 7, 192, 32, 8),
        ("messages", 251, 27, 224, 0, 6),
        ("responses", 229, 5, 192, 32, 8),
        ("responses", 229, 5, 224, 0, 8),
    ]
