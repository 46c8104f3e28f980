"""One completion from token ids, streamed, with the time to its first token and what the server says it reused.

    POST /v1/completions {"model", "prompt": [ids], "max_tokens": 1, "stream": true, "stream_options": {"include_usage"}}

The usage of the last chunk holds `prompt_tokens` and `prompt_tokens_details.cached_tokens` (vLLM needs
`--enable-prompt-tokens-details`; llama.cpp and SGLang send it). Nothing in a reply is trusted: sizes and times are limited,
numbers that contradict each other are said, not used, and prompts go to no other address than the one that was given.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, TypeGuard
from urllib.parse import urlsplit

import requests

from hitledger.errors import UsageError
from hitledger_replay.servers.answer import Answer, json_object
from hitledger_replay.servers.errors import ServerError, ServerGoneError, ServerTimeoutError

MAX_NAME = 1000
SERVER_SECONDS = 600.0
RETRIES = 3
BACKOFF_SECONDS = 0.5
TRANSIENT = (408, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Completion:
    """What the server said. Counts are None where it said nothing."""

    ttft: float
    prompt_tokens: int | None
    cached_tokens: int | None


class ServerClient:
    """`seconds` is the longest wait for an answer, from its request to its end."""

    def __init__(
        self, url: str, model: str | None = None, api_key: str | None = None, seconds: float = SERVER_SECONDS
    ) -> None:
        """Raises UsageError for something that is no http URL, or no time to wait."""
        if not _is_address(url):
            raise UsageError(f"--url {url}: give http://HOST:PORT, without a user name")
        if not 0 < seconds < math.inf:
            raise UsageError(f"--timeout {seconds:g}: give seconds above 0")
        self.url = url.rstrip("/").removesuffix("/v1")
        self._model = model
        self._rows: list[dict[str, Any]] | None = None
        self._unlisted = "it names no model"
        self._seconds = seconds
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy from the environment must not see the prompts
        if api_key:
            self._session.headers["Authorization"] = f"Bearer {api_key}"

    @property
    def model(self) -> str:
        """The name the server knows its model by; asked for if none was given. Raises ServerError."""
        if self._model is None:
            names = [row["id"] for row in self._listed() if _is_name(row.get("id"))]
            if not names:
                raise ServerError(f"{self.url}/v1/models: {self._unlisted}; use --model NAME")
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
            given = (row.get("id"), *(aliases if isinstance(aliases, list) else ()))
            names.update(name for name in given if _is_name(name))
        if names and self._model is not None and self._model not in names:
            raise ServerError(f"{self.url}: it serves no model {self._model!r} but {', '.join(sorted(names)[:5])}")

    def _listed(self) -> list[dict[str, Any]]:
        """The rows of /v1/models; none where a server has no such page. Raises ServerError if it does not answer."""
        if self._rows is None:
            try:
                rows = self.get_json("/v1/models").get("data")
            except (ServerGoneError, ServerTimeoutError):
                raise
            except ServerError as error:
                rows, self._unlisted = None, str(error).removeprefix(f"{self.url}/v1/models: ")
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
        first: float | None = None
        usage: dict[str, Any] = {}
        with self._request("POST", "/v1/completions", body) as answer:
            for chunk in answer.chunks():
                if first is None and chunk.get("choices"):
                    first = time.perf_counter() - answer.begun
                if isinstance(chunk.get("usage"), dict):
                    usage = chunk["usage"]
        if first is None and not answer.finished:
            raise ServerGoneError(f"{self.url}: the connection broke before the first token")
        if first is None:
            raise ServerError(f"{self.url}: the stream ended without a token")
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return Completion(first, _count(usage.get("prompt_tokens")), _count(cached))

    def get_json(self, path: str) -> dict[str, Any]:
        """A JSON object. Raises ServerError."""
        return json_object(self.get_text(path), self.url + path)

    def post_json(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A JSON object. Raises ServerError."""
        with self._request("POST", path, body) as answer:
            return json_object(answer.text(), self.url + path)

    def get_text(self, path: str) -> str:
        """A page. Raises ServerError."""
        with self._request("GET", path) as answer:
            return answer.text()

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        place = self.url + path
        for attempt in range(RETRIES):
            begun = time.perf_counter()  # of this attempt: what failed before is no part of its time
            try:
                response = self._session.request(
                    method, place, json=body, stream=True, timeout=(10.0, self._seconds), allow_redirects=False
                )
            except requests.Timeout as error:
                raise ServerTimeoutError(f"{place}: no answer within {self._seconds:g} s; raise --timeout") from error
            except requests.RequestException as error:
                if attempt + 1 == RETRIES:
                    raise ServerGoneError(f"{self.url}: cannot be reached; is the server running?") from error
            else:
                answer = Answer(response, place, begun, self._seconds)
                if response.status_code not in TRANSIENT or attempt + 1 == RETRIES:
                    return answer.accepted()
                response.close()
            time.sleep(BACKOFF_SECONDS * 2**attempt)
        raise AssertionError("every attempt returns or raises")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username and port != 0


def _is_name(name: object) -> TypeGuard[str]:
    """Whether a model can be called so: a lone surrogate could neither be sent nor written."""
    return (
        isinstance(name, str) and 0 < len(name) <= MAX_NAME and not any("\ud800" <= char <= "\udfff" for char in name)
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
