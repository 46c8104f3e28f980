"""Damage that every reader of spans, gateways and traces must survive: read as far as possible, counted, said."""

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitledger.errors import HitledgerError
from hitledger.logs.files import LogFile
from log_fixtures import claims, content_of, read
from log_reading import FIXTURES, fixture

FORMATS = (
    *("otel", "openinference", "vercel-ai-sdk", "mlflow", "langfuse", "langsmith", "litellm", "helicone", "tracelab"),
    *("mooncake", "bailian", "kv-cache-tester"),
)
FILES = [
    (format_name, f"{format_name}/{path.name}")
    for format_name in FORMATS
    for path in sorted((FIXTURES / format_name).iterdir())
    if path.suffix != ".md"
]
WRONG = (None, 7, -1.5, "text", [], {}, [[]], {"a": 1}, True, "x" * 3000, 10**30, "\ud83d")


def changed(file: LogFile, content: bytes) -> LogFile:
    return LogFile(None, file.name, content)


def documents(file: LogFile) -> list[Any]:
    decoder, text, found, at = json.JSONDecoder(), content_of(file).decode(), [], 0
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key in a document."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize(("format_name", "name"), FILES)
def test_one_reader_claims_it(format_name: str, name: str) -> None:
    assert claims(fixture(name)) == [format_name]


@pytest.mark.parametrize(("format_name", "name"), FILES)
def test_cut_anywhere(format_name: str, name: str) -> None:
    """No row is lost, and nothing but the last record is skipped."""
    file = fixture(name)
    content = content_of(file)
    whole = {call.id for call in read(format_name, file)[0]}
    for part in range(1, 12):
        calls, ledger = read(format_name, changed(file, content[: len(content) * part // 12]))
        assert ledger.skipped <= 1
    if len(whole) > 2:
        assert whole & {call.id for call in calls}


@pytest.mark.parametrize(("format_name", "name"), FILES)
def test_a_cut_file_says_so(format_name: str, name: str) -> None:
    content = content_of(fixture(name)).rstrip()
    cut = changed(fixture(name), content[:-2])
    _, ledger = read(format_name, cut)
    assert ledger.skipped == 1
    with pytest.raises(HitledgerError, match="--strict"):
        read(format_name, cut, strict=True)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(FILES), st.randoms(use_true_random=False), st.sampled_from(WRONG))
def test_any_field_of_the_wrong_type(chosen: tuple[str, str], random: random.Random, wrong: Any) -> None:
    format_name, name = chosen
    values = documents(fixture(name))
    for _ in range(3):
        container, key = random.choice(list(places(values)))
        container[key] = deepcopy(wrong)
    content = "\n".join(json.dumps(value) for value in values).encode()
    read(format_name, changed(fixture(name), content))


@pytest.mark.parametrize(("format_name", "name"), FILES)
def test_rows_of_the_wrong_type_are_skipped(format_name: str, name: str) -> None:
    file = fixture(name)
    before = read(format_name, file)[0]
    calls, ledger = read(format_name, changed(file, content_of(file) + b'\n{"unknown": 1}\n[7, "x"]\nnoise\n'))
    assert [call.id for call in calls] == [call.id for call in before]
    assert ledger.skipped >= 1


@pytest.mark.parametrize(("format_name", "name"), FILES)
def test_unknown_fields_of_a_newer_schema_change_nothing(format_name: str, name: str) -> None:
    values = documents(fixture(name))
    for container, _ in list(places(values)):
        if isinstance(container, dict) and {"id", "name", "timestamp", "key", "chat_id", "t"} & container.keys():
            container["new_in_the_next_version"] = {"deep": [1, {"x": None}]}
    content = "\n".join(json.dumps(value) for value in values).encode()
    calls, ledger = read(format_name, changed(fixture(name), content))
    before, ledger_before = read(format_name, fixture(name))
    assert [(call.id, call.usage, call.session) for call in calls] == [
        (call.id, call.usage, call.session) for call in before
    ]
    assert ledger.skipped == ledger_before.skipped == 0


@pytest.mark.parametrize(("format_name", "name"), FILES)
def test_missing_usage_is_none_and_said(format_name: str, name: str) -> None:
    values = documents(fixture(name))
    for container, key in list(places(values)):
        if isinstance(container, dict) and key in container and _counts_tokens(str(key), container):
            container.pop(key, None)
    if format_name in ("otel", "vercel-ai-sdk"):
        values = [_without_attributes(value) for value in values]
    content = "\n".join(json.dumps(value) for value in values).encode()
    calls, ledger = read(format_name, changed(fixture(name), content))
    if format_name in ("mooncake", "bailian", "kv-cache-tester"):
        assert (calls, ledger.skipped) == ([], ledger.rows - sum(ledger.known_rows.values()))
        return
    assert calls
    assert all(call.usage is None for call in calls)
    silent = [call for call in calls if call.status < 400 and not call.notes]
    assert silent == []


def _counts_tokens(key: str, container: dict[str, Any]) -> bool:
    if key in TEXTS and isinstance(container[key], str):
        return True
    names = ("usage", "token", "input_length", "inputUsage", "outputUsage", "promptTokens")
    return any(name in key for name in names) or key == "in" or (key == "output" and "usageDetails" in str(container))


# JSON in a string, with figures in it.
TEXTS = ("mlflow.spanOutputs", "metadata", "response_body")


def _without_attributes(value: Any) -> Any:
    if isinstance(value, list):
        kept = [item for item in value if not (isinstance(item, dict) and _is_figure(str(item.get("key"))))]
        return [_without_attributes(item) for item in kept]
    if isinstance(value, dict):
        return {key: _without_attributes(item) for key, item in value.items() if not _is_figure(key)}
    return value


def _is_figure(name: str) -> bool:
    return "usage." in name or name == "ai.response.providerMetadata"


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]", b"{}", b"[[]]", b"null", b"\x00\x01", b'{"data":[]}'])
def test_an_empty_or_foreign_export_is_nobodys_and_reads_as_nothing(format_name: str, content: bytes) -> None:
    file = LogFile(None, "x", content)
    assert format_name not in claims(file)
    assert read(format_name, file)[0] == []
