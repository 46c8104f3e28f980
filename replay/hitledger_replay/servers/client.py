"""One completion from token ids, streamed, with the time to its first token and what the server says it reused.

    POST /v1/completions {"model", "prompt": [ids], "max_tokens": 1, "stream": true, "stream_options": {"include_usage"}}

The usage of the last chunk holds `prompt_tokens` and `prompt_tokens_details.cached_tokens` (vLLM needs
`--enable-prompt-tokens-details`; llama.cpp and SGLang send it). Nothing in a reply is trusted: sizes are limited, and
numbers that contradict each other are said, not used.
"""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests

from hitledger.errors import UsageError
from hitledger_replay.errors import ReplayError

MAX_STREAM_BYTES = 1 << 18
MAX_PAGE_BYTES = 1 << 24
RETRIES = 3
BACKOFF_SECONDS = 0.5
TRANSIENT = (408, 429, 500, 502, 503, 504)


class ServerError(ReplayError):
    """The server refused a request, or did not answer."""


class ServerGoneError(ServerError):
    """The server cannot be reached any more."""


class ServerTimeoutError(ServerError):
    """The server did not answer in time; what it has computed of the prompt is not known."""


class ServerRefusedError(ServerError):
    """The server answered with an error status."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the server said. Counts are None where it said nothing."""

    ttft: float
    prompt_tokens: int | None
    cached_tokens: int | None


class ServerClient:
    """`seconds` is the longest wait for the first byte of an answer and between two."""

    def __init__(self, url: str, model: str | None = None, api_key: str | None = None, seconds: float = 600.0) -> None:
        """Raises UsageError for something that is no http URL, or no time to wait."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise UsageError(f"--url {url}: give http://HOST:PORT, without a user name")
        if not 0 < seconds < math.inf:
            raise UsageError(f"--timeout {seconds:g}: give seconds above 0")
        self.url = url.rstrip("/").removesuffix("/v1")
        self._model = model
        self._rows: list[dict[str, Any]] | None = None
        self._seconds = seconds
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy from the environment must not see the prompts
        if api_key:
            self._session.headers["Authorization"] = f"Bearer {api_key}"

    @property
    def model(self) -> str:
        """The name the server knows its model by; asked for if none was given. Raises ServerError."""
        if self._model is None:
            names = [row["id"] for row in self._listed() if isinstance(row.get("id"), str)]
            if not names:
                raise ServerError(f"{self.url}: /v1/models names no model; use --model NAME")
            self._model = names[0]
        return self._model

    @property
    def owner(self) -> str | None:
        """What the first model of /v1/models names as its owner: the engine's name, on engines' own servers."""
        owners = [row.get("owned_by") for row in self._listed()]
        return next((owner for owner in owners if isinstance(owner, str)), None)

    def require_model(self) -> None:
        """Raises ServerError if a model was given that /v1/models, where it lists any, does not list.

        llama.cpp's server would answer with its own model, whatever the request names.
        """
        names: set[str] = set()
        for row in self._listed():
            aliases = row.get("aliases")
            names.update(str(name) for name in (row.get("id"), *(aliases if isinstance(aliases, list) else ())))
        if names and self._model is not None and self._model not in names:
            raise ServerError(f"{self.url}: it serves no model {self._model!r} but {', '.join(sorted(names)[:5])}")

    def _listed(self) -> list[dict[str, Any]]:
        """The rows of /v1/models; none where a server has no such page. Raises ServerError if it does not answer."""
        if self._rows is None:
            try:
                rows = self.get_json("/v1/models").get("data")
            except (ServerGoneError, ServerTimeoutError):
                raise
            except ServerError:
                rows = None
            self._rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return self._rows

    def complete(self, prompt: tuple[int, ...]) -> Completion:
        """One token behind `prompt`. Transient failures are tried again. Raises ServerError or ServerGoneError."""
        body = {
            "model": self.model,
            "prompt": list(prompt),
            "max_tokens": 1,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        begun = time.perf_counter()
        with self._request("POST", "/v1/completions", json=body, stream=True) as response:
            first: float | None = None
            usage: dict[str, Any] = {}
            for chunk in _chunks(response, self.url):
                if first is None and chunk.get("choices"):
                    first = time.perf_counter() - begun
                if isinstance(chunk.get("usage"), dict):
                    usage = chunk["usage"]
        if first is None:
            raise ServerError(f"{self.url}: the stream ended without a token")
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return Completion(first, _count(usage.get("prompt_tokens")), _count(cached))

    def get_json(self, path: str) -> dict[str, Any]:
        """A JSON object. Raises ServerError."""
        return _object(self.get_text(path), self.url + path)

    def post_json(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A JSON object. Raises ServerError."""
        with self._request("POST", path, json=body, stream=True) as response:
            return _object(_limited(response, self.url + path), self.url + path)

    def get_text(self, path: str) -> str:
        """A page. Raises ServerError."""
        with self._request("GET", path, stream=True) as response:
            return _limited(response, self.url + path)

    def _request(self, method: str, path: str, **options: Any) -> requests.Response:
        for attempt in range(RETRIES):
            try:
                response = self._session.request(method, self.url + path, timeout=(10.0, self._seconds), **options)
            except requests.Timeout as error:
                raise ServerTimeoutError(
                    f"{self.url}{path}: no answer within {self._seconds:g} s; raise --timeout"
                ) from error
            except requests.RequestException as error:
                if attempt + 1 == RETRIES:
                    raise ServerGoneError(f"{self.url}: cannot be reached; is the server running?") from error
            else:
                if response.status_code < 400:
                    return response
                if response.status_code not in TRANSIENT or attempt + 1 == RETRIES:
                    with response:
                        reason = _limited(response, self.url)[:300].replace("\n", " ")
                    raise ServerRefusedError(f"{self.url}{path}: status {response.status_code}: {reason}")
                response.close()
            time.sleep(BACKOFF_SECONDS * 2**attempt)
        raise AssertionError("every attempt returns or raises")


def _chunks(response: requests.Response, url: str) -> Iterator[dict[str, Any]]:
    """The JSON of each `data:` line, to `[DONE]` or the end of the stream."""
    for line in _lines(response, url):
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        yield _object(data, url)


def _lines(response: requests.Response, url: str) -> Iterator[bytes]:
    """Whole lines as they arrive: byte by byte, since a larger read would wait for more than the first token."""
    line, size = bytearray(), 0
    try:
        for byte in response.iter_content(1):
            size += 1
            if size > MAX_STREAM_BYTES:
                raise ServerError(f"{url}: an answer larger than one token can be")
            if byte == b"\n":
                yield bytes(line)
                line.clear()
            else:
                line += byte
    except requests.Timeout as error:
        raise ServerTimeoutError(f"{url}: the stream stopped; raise --timeout") from error
    except requests.RequestException as error:
        if isinstance(error, requests.ConnectionError) and "timed out" in str(error):
            raise ServerTimeoutError(f"{url}: the stream stopped; raise --timeout") from error
        raise ServerGoneError(f"{url}: the connection broke in the middle of an answer") from error


def _object(text: str | bytes, place: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ServerError(f"{place}: the answer is no JSON") from error
    if not isinstance(found, dict):
        raise ServerError(f"{place}: the answer is no JSON object")
    return found


def _limited(response: requests.Response, place: str) -> str:
    content = b""
    try:
        for part in response.iter_content(1 << 16):
            content += part
            if len(content) > MAX_PAGE_BYTES:
                raise ServerError(f"{place}: an answer larger than {MAX_PAGE_BYTES >> 20} MiB")
    except requests.RequestException as error:
        raise ServerGoneError(f"{place}: the connection broke in the middle of an answer") from error
    return content.decode(errors="replace")


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
