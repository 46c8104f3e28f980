"""Real servers, one just started: their reuse is what our rule for them says, on every call. And what they wrote before.

HITLEDGER_VLLM_URL=http://127.0.0.1:8411 HITLEDGER_LLAMA_URL=http://127.0.0.1:8412 pytest tests/test_peer_servers.py
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hitledger.audit import with_unique_ids
from hitledger.logs.read import read_logs
from hitledger.reconcile import reconcile
from hitledger.segments import Layout
from hitledger.types import Call, Certainty
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.replay import ServerOptions, replay_on_server
from hitledger_replay.servers.slotflags import slot_rule
from hitledger_replay.servers.slots import SlotReads
from hitledger_replay.servers.tokenizer import ServerTokenizer
from hitledger_replay.sessions.expected import ExpectedReads
from hitledger_replay.sessions.plan import PlannedCall
from hitledger_replay.sessions.render import Rendering, Target
from rule_builders import ids, reads, rule_named

FIXTURES = Path(__file__).parent.parent / "fixtures"
SCENARIOS = (
    "03-mcp-tools-reordered",
    "06-work-tree-state-in-system",
    "13-tool-result-pruned",
    "17-tool-arguments-resorted",
)
NOWHERE = ServerClient("http://127.0.0.1:9")


@pytest.mark.parametrize("variable", ["HITLEDGER_VLLM_URL", "HITLEDGER_LLAMA_URL"])
def test_a_running_server_does_what_its_rule_says(variable: str) -> None:
    """Four sessions whose calls interleave. HITLEDGER_LLAMA_FLAGS: what llama.cpp's server was started with."""
    url = os.environ.get(variable)
    if not url:
        pytest.skip(f"{variable} names no server")
    client = ServerClient(url)
    logs = [str(FIXTURES / f"scenarios/{name}.json") for name in SCENARIOS]
    calls = with_unique_ids(read_logs(logs).calls())
    target = Target(ServerTokenizer(client), 32_000, None, {})
    flags = os.environ.get("HITLEDGER_LLAMA_FLAGS", "") if client.owner == "llamacpp" else ""
    found = reconcile(replay_on_server(calls, client, target, ServerOptions(flags=flags)))
    assert len(found.calls) == len(calls) == 13
    found.require_equal()


def recorded() -> list[tuple[PlannedCall, dict[str, int | None]]]:
    rows = []
    for number, line in enumerate((FIXTURES / "llama-cpp/reuse.jsonl").read_text("utf-8").splitlines()):
        row = json.loads(line)
        prompt = (*row["prompt"], *(0,) * row["padding"])
        call = PlannedCall(
            str(number), "s", "main", number, None, prompt, (), None, Rendering.TOKEN_IDS, Certainty.EXACT, ""
        )
        rows.append((call, row["cached"]))
    return rows


def test_the_simulated_slots_reuse_what_llama_cpp_s_server_reused_under_each_setting() -> None:
    calls = recorded()
    for flags in calls[0][1]:
        simulator = SlotReads(slot_rule(flags, NOWHERE))
        for call, cached in calls:
            if cached[flags] is None:
                simulator.refused(call)
            else:
                assert simulator.next(call).cached_tokens == cached[flags], (flags, call.id)


def test_the_longest_prefix_of_any_earlier_prompt_is_not_what_llama_cpp_s_server_reuses() -> None:
    anywhere = ExpectedReads(1)
    served = [
        (anywhere.next(call).cached_tokens, cached["-np 1"])
        for call, cached in recorded()
        if cached["-np 1"] is not None
    ]
    assert sum(expected != found for expected, found in served) == 21
    assert all(expected >= found for expected, found in served if found is not None)


Usage = tuple[str, int, int, int, int | None, int | None]


def usages(name: str) -> list[Usage]:
    """API; input, uncached, read, written and output tokens."""
    return [usage_of(call) for call in read_logs([str(FIXTURES / name)]).calls()]


def usage_of(call: Call) -> Usage:
    usage = call.usage
    assert usage is not None
    classes = (usage.uncached_input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
    return (call.api, usage.input_tokens, *classes)


def test_usage_as_vllm_writes_it_in_three_shapes() -> None:
    """Two shapes count the cached tokens in, one counts them out."""
    assert usages("vllm/served.jsonl") == [
        ("chat", 230, 230, 0, None, 8),
        ("chat", 248, 24, 224, None, 5),
        ("messages", 231, 7, 192, 32, 8),
        ("messages", 251, 27, 224, 0, 6),
        ("responses", 229, 5, 192, 32, 8),
        ("responses", 229, 5, 224, 0, 8),
    ]


def test_usage_as_llama_cpp_writes_it_in_four_shapes() -> None:
    """Single tokens, and no count of what is written: a prompt that came before is read but for what follows it."""
    assert usages("llama-cpp/served.jsonl") == [
        ("chat", 230, 230, 0, None, 8),
        ("chat", 254, 17, 237, None, 8),
        ("messages", 230, 221, 9, None, 8),
        ("messages", 254, 17, 237, None, 8),
        ("responses", 241, 232, 9, None, 8),
        ("responses", 241, 1, 240, None, 8),
        ("", 63, 63, 0, None, 2),
        ("", 62, 2, 60, None, 2),
    ]
    *_, last = read_logs([str(FIXTURES / "llama-cpp/served.jsonl")]).calls()
    assert last.prompt_ids == (*range(300, 360), 4, 5)


@pytest.mark.parametrize(
    ("flags", "rule", "changes"),
    [
        ("-np 1", "llama-cpp-host-memory", {"slots": 1}),
        ("-np 1 --cache-ram 0", "llama-cpp-host-memory", {"slots": 1, "host_memory": False}),
        ("-np 3 --no-cache-idle-slots", "llama-cpp-host-memory", {"slots": 3}),
        ("-np 4 -kvu", "llama-cpp-idle-slots", {}),
    ],
)
def test_the_audit_s_rule_for_llama_cpp_gives_the_same_reads(flags: str, rule: str, changes: dict[str, Any]) -> None:
    """Prompts that the server refused are left out of both: an audit looks at answered calls only."""
    simulator, layout = SlotReads(slot_rule(flags, NOWHERE)), Layout()
    served = [call for call, cached in recorded() if cached[flags] is not None]
    calls = [ids(number, call.prompt, "llama_cpp", layout) for number, call in enumerate(served)]
    simulated = [simulator.next(call).cached_tokens for call in served]
    assert reads(calls, rule_named(rule, valid_to=None, **changes)) == simulated
