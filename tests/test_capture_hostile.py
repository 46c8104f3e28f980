"""Readers of captured traffic on hostile input: nothing raises, every row is accounted for."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest
import yaml
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
Shape = Callable[[Any, Any], Any]


def asked(value: Any) -> dict[str, Any]:
    """A request body around a value of the fuzz."""
    return {"model": "m", "messages": [{"role": "user", "content": value}], "tools": value, "system": value}


# Enough of each format that the fuzz gets past the front door.
SHAPES: dict[ModuleType, tuple[Shape, ...]] = {
    bodies: (
        lambda a, b: {"request": asked(a), "response": b, "timestamp": b, "usage": b},
        lambda a, b: {
            "request": {"model": "m", "input": a},
            "response": {"object": "response", "output": b, "id": "r"},
        },
        lambda a, b: {"request": {"contents": a}, "response": {"candidates": b, "usageMetadata": b}},
        lambda a, b: {"request": asked(a), "response": f"data: {json.dumps(b)}\n\ndata: {json.dumps(a)}\n\n"},
        lambda a, b: {"request": {"model": "m", "prompt": a}, "response": {"choices": [{"message": b}], "usage": b}},
    ),
    claude_trace: (
        lambda a, b: {"request": {"url": a, "body": asked(b), "headers": a}, "response": b, "logged_at": a},
    ),
    bedrock: (
        lambda a, b: {"schemaType": "ModelInvocationLog", "modelId": a, "input": {"inputBodyJson": b}, "output": b},
        lambda a, b: {
            "schemaType": "ModelInvocationLog",
            "modelId": "m",
            "input": {"inputBodyJson": asked(a)},
            "output": b,
        },
    ),
    har: (
        lambda a, b: {"log": {"version": "1", "entries": [{"request": a, "response": b, "timings": a}, b]}},
        lambda a, b: {"log": {"version": "1", "entries": [{"request": {"postData": {"text": json.dumps(asked(a))}}}]}},
    ),
    lhar: (lambda a, b: {"type": "entry", "trace_id": a, "gen_ai": {"usage": b}, "raw": {"request_body": asked(a)}},),
    openai_batch: (
        lambda a, b: {"custom_id": "a", "body": asked(a), "url": b},
        lambda a, b: {"custom_id": "a", "response": a, "result": b, "error": a},
    ),
    scenario: (
        lambda a, b: {"format": "token-ids", "requests": [{"body": {"prompt": a}}, b], "engine": b},
        lambda a, b: {"format": "openai-chat", "requests": [{"body": asked(a), "usage": b, "response_headers": b}]},
        lambda a, b: {"format": "openai-responses", "requests": [{"body": {"input": a, "text": b}, "generation": b}]},
    ),
    sharegpt: (lambda a, b: {"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}, a]},),
    lmcache: (lambda a, b: {"timestamp": a, "session_id": "s", "input": "x", "output": "y", "model": b},),
    raw_api_bodies: (
        lambda a, b: {**asked(a), "metadata": b},
        lambda a, b: {"request_file": a, "response_file": b, "timestamp": a},
    ),
    vcr: (lambda a, b: {"interactions": [{"request": {"body": json.dumps(asked(a)), "uri": b}, "response": b}]},),
}


def written_as(reader: ModuleType, value: Any) -> bytes:
    """Two rows and a cut one; YAML where the format is."""
    row = json.dumps(value).encode()
    if reader is vcr:
        return yaml.safe_dump(json.loads(row), width=10**6).encode()
    return row + b"\n" + row + b"\n{"


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.FORMAT)
@given(data=st.data(), first=VALUES, second=VALUES)
@settings(max_examples=60, deadline=None)
def test_any_json(reader: ModuleType, data: st.DataObject, first: Any, second: Any) -> None:
    shape = data.draw(st.sampled_from([*SHAPES[reader], lambda a, b: a]))
    with TemporaryDirectory() as folder:
        file = written(Path(folder), "a.request.json", written_as(reader, shape(first, second)))
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
