"""One answer of a server, read within limits of size and time, whatever it sends."""

import json
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import requests

from hitledger_replay.servers.errors import ServerError, ServerGoneError, ServerRefusedError, ServerTimeoutError

MAX_STREAM_BYTES = 1 << 18
MAX_PAGE_BYTES = 1 << 24
MAX_REASON = 300
PAGE_PART = 1 << 16


class Answer:
    """Use it as a context: it holds the connection. `begun`: when its request was sent, by `time.perf_counter`."""

    def __init__(self, response: requests.Response, place: str, begun: float, seconds: float) -> None:
        """`place` is its URL, for messages; `seconds` may pass from `begun` to its end."""
        self.begun = begun
        self.finished = False  # whether a stream said its end
        self._response = response
        self._place = place
        self._seconds = seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._response.close()

    def accepted(self) -> Self:
        """Itself. Raises ServerRefusedError for any status but success, a redirection too: nothing is sent elsewhere."""
        status = self._response.status_code
        if 200 <= status < 300:
            return self
        with self:
            target = self._response.headers.get("Location")
            reason = f"it points to {target}, which is not followed" if target else self.text().replace("\n", " ")
            raise ServerRefusedError(f"{self._place}: status {status}: {reason[:MAX_REASON]}")

    def text(self) -> str:
        """All of it. Raises ServerError."""
        content = bytearray()
        for part in self._parts(PAGE_PART):
            content += part
            if len(content) > MAX_PAGE_BYTES:
                raise ServerError(f"{self._place}: an answer larger than {MAX_PAGE_BYTES >> 20} MiB")
        return content.decode(errors="replace")

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The JSON of each `data:` line, to `[DONE]` or the end of the stream. Raises ServerError."""
        for line in self._lines():
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                self.finished = True
                return
            chunk = json_object(data, self._place)
            if chunk.get("error"):
                raise ServerError(f"{self._place}: {json.dumps(chunk['error'])[:MAX_REASON]}")
            yield chunk

    def _lines(self) -> Iterator[bytes]:
        """Whole lines as they arrive: byte by byte, since a larger read would wait for more than the first token."""
        line = bytearray()
        for size, byte in enumerate(self._parts(1), 1):
            if size > MAX_STREAM_BYTES:
                raise ServerError(f"{self._place}: an answer larger than one token can be")
            if byte == b"\n":
                yield bytes(line)
                line.clear()
            else:
                line += byte

    def _parts(self, size: int) -> Iterator[bytes]:
        late = f"{self._place}: no whole answer within {self._seconds:g} s; raise --timeout"
        try:
            for part in self._response.iter_content(size):
                if time.perf_counter() - self.begun > self._seconds:
                    raise ServerTimeoutError(late)
                yield part
        except requests.RequestException as error:
            if isinstance(error, requests.Timeout) or "timed out" in str(error):
                raise ServerTimeoutError(late) from error
            raise ServerGoneError(f"{self._place}: the connection broke in the middle of an answer") from error


def json_object(text: str | bytes, place: str) -> dict[str, Any]:
    """What an answer of `place` holds. Raises ServerError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ServerError(f"{place}: the answer is no JSON") from error
    if not isinstance(found, dict):
        raise ServerError(f"{place}: the answer is no JSON object")
    return found
