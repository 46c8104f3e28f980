"""A small server of our own on this machine that behaves, dies, omits, refuses and lies."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hitledger.types import Call, Evidence, Place, Prompt
from hitledger_replay.oracle import Oracle
from hitledger_replay.servers.client import ServerClient


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
    elsewhere: str = ""
    name: str = "toy"
    drips: bool = False
    silent: bool = False
    error: str = ""
    tokens: Any = None
    garbage_at: int | None = None
    cached: Any = None
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

        def redirect(self) -> None:
            self.send_response(307)
            self.send_header("Location", behaviour.elsewhere + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            if self.path == "/v1/models":
                row = {"id": behaviour.name, "aliases": ["alias"], "owned_by": behaviour.owner}
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
            if behaviour.elsewhere:
                self.redirect()
                return
            if self.path == "/tokenize" and behaviour.tokens is not None:
                self.send(json.dumps({"tokens": behaviour.tokens}).encode())
                return
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
            if behaviour.silent:
                self.wfile.write(b"data: [DONE]\n\n")
                return
            while behaviour.drips:
                self.wfile.write(b":\n")
                threading.Event().wait(0.05)
            if behaviour.error:
                self.wfile.write(b'data: {"error": {"message": "' + behaviour.error.encode() + b'"}}\n\n')
            garbage = behaviour.garbage or behaviour.garbage_at == number
            chunk = b"<html>" if garbage else json.dumps({"choices": [{"text": "x"}]}).encode()
            self.wfile.write(b"data: " + chunk + b"\n\n")
            if behaviour.usage:
                usage = {
                    "prompt_tokens": len(prompt) + behaviour.extra_prompt,
                    "prompt_tokens_details": {
                        "cached_tokens": cached + behaviour.extra_cached
                        if behaviour.cached is None
                        else behaviour.cached
                    },
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


def calls(*prompts: tuple[int, ...]) -> list[Call]:
    return [
        Call(str(i), "s", "main", Place("f", 1), "openai", "m", Evidence.EXACT, Prompt(()), prompt_ids=prompt)
        for i, prompt in enumerate(prompts)
    ]


A = tuple(range(150))
B = (*range(10), 999, *range(11, 150))
C = (*range(120), 998, *range(121, 150))
