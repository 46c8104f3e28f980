"""Captured bodies in every wrapping, with limits on what a hostile one can unfold to."""

import base64
import gzip
import json
import zlib
from typing import Any

import pytest
import zstandard

from hitledger.logs.captured import payloads
from hitledger.logs.captured.payloads import payload_of

BODY = {"model": "m", "n": [1, "ü"]}
TEXT = json.dumps(BODY)
STREAM = 'data: {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'


@pytest.mark.parametrize(
    "value",
    [
        BODY,
        TEXT,
        TEXT.encode(),
        json.dumps(TEXT),
        gzip.compress(TEXT.encode()),
        zlib.compress(TEXT.encode()),
        zstandard.ZstdCompressor().compress(TEXT.encode()),
    ],
    ids=range(7),
)
def test_one_body_in_many_wrappings(value: Any) -> None:
    found = payload_of(value)
    assert found.body == BODY
    assert found.notes == ()


def test_base64() -> None:
    assert payload_of(base64.b64encode(gzip.compress(TEXT.encode())).decode(), is_base64=True).body == BODY
    assert payload_of("%%%", is_base64=True).notes == ("body_not_base64",)


def test_streams_as_text_and_as_lists_of_events() -> None:
    event = json.loads(STREAM.removeprefix("data: "))
    for value in (STREAM, STREAM.encode(), [event], json.dumps([event])):
        body = payload_of(value).body
        assert body is not None
        assert body["choices"][0]["message"]["content"] == "a"


@pytest.mark.parametrize(
    ("value", "notes"),
    [
        (None, ()),
        ("", ()),
        ("{broken", ("body_not_json",)),
        ("7", ("body_of_wrong_type",)),
        (7, ("body_of_wrong_type",)),
        ([1, 2], ("stream_not_known",)),
        (b"\x1f\x8b\x08damaged", ("body_not_decompressed",)),
        ('data: {"choices": [], "usage": {}}\n\n', ("stream_cut",)),
        ('data: {"choices": []}\n\ndata: {\n\n', ("stream_events_damaged", "stream_cut")),
    ],
    ids=range(9),
)
def test_what_cannot_be_read_is_said(value: Any, notes: tuple[str, ...]) -> None:
    assert payload_of(value).notes == notes


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_body_that_unfolds_to_too_much_is_refused(compress: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "MAX_BODY_BYTES", 1000)
    assert payload_of(compress(b"[" * 2000)).notes == ("body_not_decompressed",)


def test_a_compressed_body_that_was_cut_keeps_its_text() -> None:
    whole = gzip.compress(STREAM.encode() * 3)
    assert payload_of(whole[:-8]).body is not None
