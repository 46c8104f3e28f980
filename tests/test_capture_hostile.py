"""Readers of captured traffic on hostile input: nothing raises, every row is accounted for."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitledger.logs import (
    bedrock,
    bodies,
    claude_trace,
    har,
    lhar,
    lmcache,
    openai_batch,
    raw_api_bodies,
    scenario,
    sharegpt,
    vcr,
)
from log_reading import read, written

READERS = (bedrock, bodies, claude_trace, har, lhar, lmcache, openai_batch, raw_api_bodies, scenario, sharegpt, vcr)

WORDS = [
    *("request", "response", "body", "headers", "url", "messages", "role", "user", "assistant", "system", "content"),
    *("model", "claude-x", "gpt-x", "type", "text", "tool_use", "tool_result", "input", "output", "usage", "tools"),
    *("input_tokens", "prompt_tokens", "cache_read_input_tokens", "choices", "message", "candidates", "contents"),
    *("parts", "log", "entries", "custom_id", "error", "schemaType", "ModelInvocationLog", "modelId", "events"),
    *("inputBodyJson", "outputBodyJson", "conversations", "from", "human", "gpt", "value", "requests", "format"),
    *("anthropic-messages", "token-ids", "prompt_token_ids", "prompt", "engine", "timestamp", "session_id", "entry"),
    *("gen_ai", "trace_id", "logged_at", "cache_control", "metadata", "user_id", "previous_response_id", "id"),
    *("data: {}\n\n", "http://[", "2026-05-04T08:00:00Z", "status", "response_headers", "name", "\ud800", "\x00"),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(WORDS),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(WORDS), inner, max_size=6)),
    max_leaves=25,
)
# Enough of each format that the fuzz gets past the front door.
SHAPES = [
    lambda value: {"request": {"model": "claude-x", "messages": value}, "response": value, "logged_at": "x"},
    lambda value: {"model": "gpt-x", "messages": [{"role": "user", "content": value}], "tools": value},
    lambda value: {
        "request": {"model": "gpt-x", "input": value},
        "response": {"object": "response", "output": [value]},
    },
    lambda value: {"schemaType": "ModelInvocationLog", "modelId": value, "input": value, "output": value},
    lambda value: {"log": {"version": "1.2", "entries": [{"request": value, "response": value}, value]}},
    lambda value: {"type": "entry", "trace_id": value, "gen_ai": {"usage": value}, "raw": value, "http": value},
    lambda value: {"custom_id": "a", "body": {"model": "m", "messages": value}},
    lambda value: {"custom_id": "a", "response": value, "result": value, "error": value},
    lambda value: {"format": "token-ids", "requests": [{"body": {"prompt": value}}, value], "engine": value},
    lambda value: {"request_file": value, "response_file": value, "timestamp": value},
    lambda value: value,
]


def content_of(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.FORMAT)
@given(value=VALUES, shape=st.sampled_from(SHAPES))
@settings(max_examples=60, deadline=None)
def test_any_json(reader: ModuleType, value: Any, shape: Any) -> None:
    with TemporaryDirectory() as folder:
        row = content_of(shape(value))
        file = written(Path(folder), "a.request.json", row + b"\n" + row + b"\n{")
        reader.sniff(file)
        read(reader, file)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.FORMAT)
@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02",
        b"\xff\xfe{\x00}\x00",
        b"[" * 10_000,
        b'{"request": ' * 10_000,
        b"{}\n" * 3,
        b"null",
        b'{"messages": [',
        b"interactions:\n- request:\n  \x00",
        b"interactions:\n" + b"- [" * 5_000,
    ],
    ids=range(9),
)
def test_what_is_no_log(reader: ModuleType, content: bytes, tmp_path: Path) -> None:
    file = written(tmp_path, "a.json", content)
    reader.sniff(file)
    assert read(reader, file).calls == []
