"""Servers: a small one of our own on this machine that behaves, dies, omits, refuses and lies."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hitledger.errors import UsageError
from hitledger.measurement import load
from hitledger.reconcile import UnreconciledError, reconcile
from hitledger.types import Call, Evidence, Kind, Place, Prompt, Segment, Tier
from hitledger_replay.errors import ReplayError
from hitledger_replay.models.tiny import ShippedTokenizer
from hitledger_replay.oracle import Oracle
from hitledger_replay.servers import client as client_module
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.errors import ServerError, ServerGoneError
from hitledger_replay.servers.metrics import Counters, read_counters
from hitledger_replay.servers.replay import PartialReplayError, ServerOptions, replay_on_server
from hitledger_replay.servers.rules import block_size_of, engine_of
from hitledger_replay.servers.tokenizer import ServerTokenizer
from hitledger_replay.sessions import command, plan
from hitledger_replay.sessions.render import Target

TARGET = Target(ShippedTokenizer(), 1000, None, {})


@dataclass
class Behaviour:
    """What the server does; `fail_first` answers 503 so many times, `die_at` cuts that answer and takes no more."""

    block_size: int = 16
    die_at: int | None = None
    fail_first: int = 0
    usage: bool = True
    extra_cached: int = 0
    extra_prompt: int = 0
    refuse: int | None = None
    garbage: bool = False
    hang: bool = False
    endless: bool = False
    metrics: bool = True
    counters: str | None = None
    owner: str = "us"
    hang_at: int | None = None
    dead: bool = False
    requests: list[dict[str, Any]] = field(default_factory=list)
    queries: int = 0
    hits: int = 0


def handler_for(behaviour: Behaviour) -> type[BaseHTTPRequestHandler]:
    cache = Oracle(behaviour.block_size)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def send(self, body: bytes, status: int = 200, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            if self.path == "/v1/models":
                row = {"id": "toy", "aliases": ["alias"], "owned_by": behaviour.owner}
                self.send(json.dumps({"data": [row]}).encode())
            elif self.path == "/metrics" and behaviour.counters:
                self.send(behaviour.counters.encode(), kind="text/plain")
            elif self.path == "/metrics" and behaviour.metrics:
                text = (
                    f'vllm:prefix_cache_queries_total{{engine="0"}} {behaviour.queries}.0\n'
                    f'vllm:prefix_cache_hits_total{{engine="0"}} {behaviour.hits}.0\n'
                    f'vllm:cache_config_info{{block_size="{behaviour.block_size}",x="y"}} 1.0\n'
                )
                self.send(text.encode(), kind="text/plain")
            else:
                self.send(b'{"error": "no"}', 404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenize":
                self.send(json.dumps({"tokens": [ord(c) for c in body["prompt"]]}).encode())
                return
            if behaviour.fail_first:
                behaviour.fail_first -= 1
                self.send(b"busy", 503)
                return
            number = len(behaviour.requests)
            behaviour.requests.append(body)
            if behaviour.refuse == number:
                self.send(b'{"error": "prompt too long"}', 400)
                return
            self.stream(body["prompt"], number)

        def stream(self, prompt: list[int], number: int) -> None:
            cached = cache.run(prompt)
            behaviour.queries += len(prompt)
            behaviour.hits += cached
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            if behaviour.hang or behaviour.hang_at == number:
                threading.Event().wait(2)
            if behaviour.die_at == number:
                self.wfile.write(b'data: {"cho')
                self.close_connection = True
                behaviour.dead = True
                return
            while behaviour.endless:
                self.wfile.write(b": keep-alive\n" * 1000)
            chunk = b"<html>" if behaviour.garbage else json.dumps({"choices": [{"text": "x"}]}).encode()
            self.wfile.write(b"data: " + chunk + b"\n\n")
            if behaviour.usage:
                usage = {
                    "prompt_tokens": len(prompt) + behaviour.extra_prompt,
                    "prompt_tokens_details": {"cached_tokens": cached + behaviour.extra_cached},
                }
                self.wfile.write(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), handler_for(behaviour))
        self.behaviour = behaviour

    def verify_request(self, request: object, client_address: object) -> bool:
        return not self.behaviour.dead

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # the client went away: what some tests are about


@contextmanager
def serving(behaviour: Behaviour, seconds: float = 10.0) -> Iterator[ServerClient]:
    server = Server(behaviour)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield ServerClient(f"http://127.0.0.1:{server.server_address[1]}/v1/", seconds=seconds)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "BACKOFF_SECONDS", 0.001)


def calls(*prompts: tuple[int, ...]) -> list[Call]:
    return [
        Call(str(i), "s", "main", Place("f", 1), "openai", "m", Evidence.EXACT, Prompt(()), prompt_ids=prompt)
        for i, prompt in enumerate(prompts)
    ]


A = tuple(range(150))
B = (*range(10), 999, *range(11, 150))
C = (*range(120), 998, *range(121, 150))


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
    assert [row.reason for row in e.value.measurement.unreplayed] == [f"{client.url}: the stream ended without a token"]


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
    ],
    ids=["omits", "lies about the cache", "lies about the prompt", "garbage", "refuses", "endless"],
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


def test_transient_failures_are_tried_again_and_lasting_ones_are_not() -> None:
    behaviour = Behaviour(fail_first=2)
    with serving(behaviour) as client:
        assert client.complete(A).prompt_tokens == 150
    assert len(behaviour.requests) == 1
    with serving(Behaviour(fail_first=9)) as client, pytest.raises(ServerError, match="status 503: busy"):
        client.complete(A)


def test_a_server_that_hangs_times_out() -> None:
    with serving(Behaviour(hang=True), seconds=0.2) as client, pytest.raises(ServerError, match="--timeout"):
        client.complete(A)


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


def test_llama_cpp_counts_computed_and_found_tokens_apart() -> None:
    with serving(
        Behaviour(counters="llamacpp:prompt_tokens_total 357\nllamacpp:prompt_tokens_cached_total 363\n")
    ) as client:
        assert read_counters(client) == Counters(720, 363, None)


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


def test_the_server_s_tokenizer() -> None:
    with serving(Behaviour()) as client:
        tokenizer = ServerTokenizer(client)
        assert tokenizer.ids("ab") == (97, 98)
        assert tokenizer.ids("") == ()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h/", "http://user:pw@h", "file:///etc/passwd", "http://"])
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="http://HOST:PORT"):
        ServerClient(url)
