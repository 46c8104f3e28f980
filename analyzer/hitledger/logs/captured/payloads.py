"""A request or response body as captures keep it: parsed, JSON text, event stream, compressed, base64."""

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import zstandard

from hitledger.logs.captured.sse import Stream, fold_events, fold_text, looks_streamed

MAX_BODY_BYTES = 64 * 2**20  # after decompression: a log is hostile input
_GZIP_OR_ZLIB = 47  # zlib's window bits: largest window, header detected


@dataclass(frozen=True, slots=True)
class Payload:
    """A body as an object. None where there was none or it could not be read; then `notes` says why."""

    body: Mapping[str, Any] | None
    notes: tuple[str, ...] = ()


NOTHING = Payload(None)


def payload_of(value: Any, *, is_base64: bool = False) -> Payload:
    """The object in a captured body, whatever it is wrapped in; a stream is folded into one response."""
    if value is None or value == "" or value == b"":
        return NOTHING
    if isinstance(value, Mapping):
        return Payload(value)
    if isinstance(value, list):
        return _folded(fold_events(value))
    if is_base64 and isinstance(value, str):
        try:
            value = base64.b64decode(value, validate=True)
        except binascii.Error:
            return Payload(None, ("body_not_base64",))
    if isinstance(value, bytes):
        plain = _decompressed(value)
        if plain is None:
            return Payload(None, ("body_not_decompressed",))
        value = plain.decode(errors="replace")
    return _from_text(value) if isinstance(value, str) else Payload(None, ("body_of_wrong_type",))


def _from_text(text: str) -> Payload:
    if looks_streamed(text):
        return _folded(fold_text(text))
    try:
        value = orjson.loads(text)
        if isinstance(value, str):  # JSON text inside JSON text
            value = orjson.loads(value)
    except orjson.JSONDecodeError:
        return Payload(None, ("body_not_json",))
    if isinstance(value, list):  # Gemini streams without SSE as one list
        return _folded(fold_events(value))
    return Payload(value) if isinstance(value, dict) else Payload(None, ("body_of_wrong_type",))


def _folded(stream: Stream | None) -> Payload:
    if stream is None:
        return Payload(None, ("stream_not_known",))
    notes = ("stream_events_damaged",) if stream.damaged else ()
    return Payload(stream.body, notes if stream.complete else (*notes, "stream_cut"))


def _decompressed(data: bytes) -> bytes | None:
    """The plain bytes; None where they are damaged at the start or too many. A cut body gives what it holds."""
    try:
        if data[:2] in (b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda"):
            inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
            plain = inflater.decompress(data, MAX_BODY_BYTES)
            return None if inflater.unconsumed_tail else plain
        if data[:4] == b"\x28\xb5\x2f\xfd":
            with zstandard.ZstdDecompressor().stream_reader(data) as reader:
                plain = reader.read(MAX_BODY_BYTES + 1)
            return None if len(plain) > MAX_BODY_BYTES else plain
    except (zlib.error, zstandard.ZstdError):
        return None
    return data
