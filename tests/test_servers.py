"""Replays of calls on a server, whatever it does: what is measured, what is listed, what is kept."""

import re
from pathlib import Path

import pytest

from hitledger.errors import UsageError
from hitledger.measurement import ServerCounters, load
from hitledger.reconcile import UnreconciledError, reconcile
from hitledger.types import Call, Evidence, Kind, Place, Prompt, Segment, Tier
from hitledger_replay.errors import ReplayError
from hitledger_replay.models.tiny import ShippedTokenizer
from hitledger_replay.servers import client as client_module
from hitledger_replay.servers import replay as replay_module
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.errors import ServerError, ServerGoneError
from hitledger_replay.servers.metrics import Counters, read_counters
from hitledger_replay.servers.replay import PartialReplayError, ServerOptions, replay_on_server
from hitledger_replay.servers.rules import block_size_of, engine_of
from hitledger_replay.sessions import command, plan
from hitledger_replay.sessions.render import Target
from toy_server import A, B, Behaviour, C, calls, serving

TARGET = Target(ShippedTokenizer(), 1000, None, {})


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "BACKOFF_SECONDS", 0.001)


@pytest.mark.parametrize(("block_size", "cached"), [(32, [0, 128, 0, 96]), (16, [0, 144, 0, 112])])
def test_a_server_s_reuse_is_read_and_equals_the_rule(block_size: int, cached: list[int]) -> None:
    behaviour = Behaviour(block_size)
    with serving(behaviour) as client:
        found = replay_on_server(calls(A, A, B, C), client, TARGET, ServerOptions())
    assert [row.measured_cached_tokens for row in found.calls] == cached
    assert [row.expected_cached_tokens for row in found.calls] == cached
    assert (found.block_size, found.model, found.engine) == (block_size, "toy", "vllm")
    assert found.server is not None
    assert (found.server.queries, found.server.hits) == (600, sum(cached))
    assert all(row.ttft_ms is not None and row.ttft_ms > 0 for row in found.calls)
    assert behaviour.requests[2]["prompt"] == list(B)
    assert (behaviour.requests[0]["max_tokens"], behaviour.requests[0]["stream"]) == (1, True)


def test_a_server_that_dies_leaves_what_was_finished() -> None:
    with serving(Behaviour(die_at=2)) as client, pytest.raises(PartialReplayError, match=r"2 of 4 calls were") as e:
        replay_on_server(calls(A, A, B, C), client, TARGET, ServerOptions())
    assert [row.id for row in e.value.measurement.calls] == ["0", "1"]
    assert "the connection broke before the first token" in str(e.value)
    assert e.value.measurement.unreplayed == ()


def test_a_stopped_replay_leaves_what_was_finished() -> None:
    def stop(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with serving(Behaviour()) as client, pytest.raises(PartialReplayError, match=r"^stopped; 3 of 4 calls were") as e:
        replay_on_server(calls(A, A, B, C), client, TARGET, ServerOptions(), stop)
    assert [row.id for row in e.value.measurement.calls] == ["0", "1", "2"]


def test_finished_calls_are_written_where_the_user_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "ServerTokenizer", lambda client: TARGET.tokenizer)
    file = tmp_path / "m.json"
    with (
        serving(Behaviour(die_at=2)) as client,
        pytest.raises(ReplayError, match=r"2 of 4 calls were finished and kept in"),
    ):
        command.replay_there(calls(A, A, B, C), client, ServerOptions(), file, None)
    assert [row.id for row in load(str(file)).calls] == ["0", "1"]
    with serving(Behaviour(die_at=2)) as client, pytest.raises(ReplayError, match="give --json FILE to keep them"):
        command.replay_there(calls(A, A, B, C), client, ServerOptions(), None, None)


def test_a_replay_in_which_nothing_was_measured_fails_and_says_why() -> None:
    with serving(Behaviour(usage=False)) as client:
        found = replay_on_server(calls(A, B), client, TARGET, ServerOptions())
    printed = command.conclude(found, None, None, False)
    assert next(line for line in printed if "--enable-prompt-tokens-details" in line)
    with pytest.raises(ReplayError, match="none of 2 calls was measured"):
        list(printed)


def test_a_tokenizer_that_fails_later_leaves_what_was_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(ShippedTokenizer):
        def ids(self, text: str) -> tuple[int, ...]:
            raise ServerError("tokenizer: status 500")

    monkeypatch.setattr(plan, "BATCH", 1)
    told = Prompt((Segment(Kind.TEXT, Tier.MESSAGES, "messages[0]", "user", bytes(16), 5, "hello"),), None, 1)
    later = Call("late", "s", "main", Place("f", 9), "openai", "m", Evidence.EXACT, told)
    target = Target(Failing(), 1000, None, {})
    with serving(Behaviour()) as client, pytest.raises(PartialReplayError, match=r"status 500; 1 of 2 calls") as e:
        replay_on_server([*calls(A), later], client, target, ServerOptions())
    assert [row.id for row in e.value.measurement.calls] == ["0"]


def test_a_server_that_was_never_there() -> None:
    with pytest.raises(ReplayError, match=r"is the server running\?"):
        replay_on_server(calls(A), ServerClient("http://127.0.0.1:9", "toy"), TARGET, ServerOptions())
    with pytest.raises(ServerGoneError, match="is the server running"):
        ServerClient("http://127.0.0.1:9").complete((1, 2))


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (Behaviour(usage=False), "--enable-prompt-tokens-details"),
        (Behaviour(extra_cached=500), "leaves none to compute"),
        (Behaviour(extra_prompt=7), "150 tokens were sent, the server reported 157"),
        (Behaviour(garbage=True), "no JSON"),
        (Behaviour(refuse=0), "status 400: .*prompt too long"),
        (Behaviour(endless=True), "larger than one token"),
        (Behaviour(error="full"), r'/v1/completions: {"message": "full"}'),
        (Behaviour(silent=True), "the stream ended without a token"),
        (Behaviour(cached=-16), "no count of cached_tokens"),
        (Behaviour(cached=True), "no count of cached_tokens"),
        (Behaviour(cached=10**30), "leaves none to compute"),
    ],
    ids=[
        *("omits", "lies about the cache", "lies about the prompt", "garbage", "refuses", "endless", "says an error"),
        *("says nothing", "below zero", "no number", "beyond numbers"),
    ],
)
def test_answers_that_cannot_be_used_are_listed_with_the_reason(behaviour: Behaviour, reason: str) -> None:
    with serving(behaviour) as client:
        found = replay_on_server(calls(A), client, TARGET, ServerOptions())
    assert found.calls == ()
    (left,) = found.unreplayed
    assert re.search(reason, left.reason)


def test_a_lie_the_rule_can_see_is_a_difference() -> None:
    """Or what looks like one: a server that held prompts before, or was started with other settings than were named."""
    with serving(Behaviour(extra_cached=16)) as client:
        found = replay_on_server(calls(A, B), client, TARGET, ServerOptions())
    with pytest.raises(UnreconciledError, match=r"expected 0, measured 16.*start the server anew.*--server-flags"):
        reconcile(found).require_equal()
    assert [(row.expected_cached_tokens, row.measured_cached_tokens) for row in found.calls] == [(0, 16), (0, 16)]


def test_counters_and_block_size() -> None:
    with serving(Behaviour(64)) as client:
        client.complete(A)
        assert read_counters(client) == Counters(150, 0, 64)
    with serving(Behaviour(metrics=False)) as client:
        assert read_counters(client) == Counters(None, None, None)
    assert block_size_of("vllm", None, 32) == 32
    assert block_size_of("vllm", None, None) == 16
    assert block_size_of("vllm", 128, 32) == 128
    assert block_size_of("llama.cpp", None, 32) == 1
    with pytest.raises(UsageError, match="single tokens"):
        block_size_of("llama.cpp", 16, None)


@pytest.mark.parametrize(("owner", "engine"), [("vllm", "vllm"), ("llamacpp", "llama.cpp"), ("acme", "vllm")])
def test_the_server_states_its_engine(owner: str, engine: str) -> None:
    with serving(Behaviour(owner=owner)) as client:
        assert engine_of("auto", client) == engine
        assert engine_of("sglang", client) == "sglang"
        with pytest.raises(UsageError, match=r"ollama: give auto, vllm, sglang, llama\.cpp"):
            engine_of("ollama", client)


def test_a_model_that_is_not_served_is_said_before_anything_is_sent() -> None:
    behaviour = Behaviour()
    with serving(behaviour) as client:
        wrong = ServerClient(client.url, "other")
        with pytest.raises(ServerError, match="it serves no model 'other' but alias, toy"):
            replay_on_server(calls(A), wrong, TARGET, ServerOptions())
        assert replay_on_server(calls(A), ServerClient(client.url, "alias"), TARGET, ServerOptions()).model == "alias"
    assert len(behaviour.requests) == 1


def test_a_call_that_times_out_ends_the_replay() -> None:
    """What the server computed of it is not known, so nothing could be expected of later calls."""
    with serving(Behaviour(hang_at=1), seconds=0.2) as client, pytest.raises(PartialReplayError, match="1 of 2") as e:
        replay_on_server(calls(A, A), client, TARGET, ServerOptions())
    assert "raise --timeout" in str(e.value)


def test_what_came_of_a_call_that_cannot_be_read_is_expected_of_the_next() -> None:
    """The server answered, so it computed the prompt; that its answer is garbage takes nothing out of its cache."""
    with serving(Behaviour(garbage_at=0)) as client:
        found = replay_on_server(calls(A, A, C), client, TARGET, ServerOptions())
    assert [(row.expected_cached_tokens, row.measured_cached_tokens) for row in found.calls] == [(144, 144), (112, 112)]


def test_counters_that_fell_say_nothing() -> None:
    with serving(Behaviour()) as client:
        pages = iter((Counters(500, 90, None), Counters(400, 95, None)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(replay_module, "read_counters", lambda client: next(pages))
            found = replay_on_server(calls(A), client, TARGET, ServerOptions())
    assert found.server == ServerCounters(None, 5)
