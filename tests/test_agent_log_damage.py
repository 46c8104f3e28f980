"""What every reader of an agent's log does with damage: reads as far as possible, counts, says, never fails."""

import json
import random
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hitledger.logs.files import LogFile
from hitledger.types import Call
from log_reading import FIXTURES, Reading, read, usage

LINES: dict[str, str] = {
    "pi": "pi/--work-pi-mono--/2025-11-20_d703a1a9.jsonl",
    "gemini_cli": "gemini-cli/tmp/0000/chats/session-2026-04-23.jsonl",
    "copilot_cli": "copilot-cli/session-state/96ef38f0/events.jsonl",
    "opencode": "opencode/run.jsonl",
    "goose": "goose/sessions/20220415_weather.jsonl",
    "openhands_events": "openhands-events/conversation/events.jsonl",
    "kimi": "kimi/sessions/wd/0001/agents/main/wire.jsonl",
    "qwen_code": "qwen-code/chats/019f0004.jsonl",
}
DOCUMENTS: dict[str, str] = {
    "gemini_cli": "gemini-cli/tmp/1111/chats/session-2025-12-03.json",
    "opencode": "opencode/export.json",
    "cline": "cline/tasks/bc93a6f7-cd2e-4686-a832-46e3cd14d338/ui_messages.json",
    "cline_sdk": "cline-sdk/1784094124598/1784094124598.messages.json",
    "nock": "nock/per-turn-metrics.json",
    "openhands_completions": (
        "openhands-completions/completions/conversation/litellm_proxy__anthropic__claude-sonnet-4-20250514-"
        "1757015025.972.json"
    ),
    "openhands_trajectory": "openhands-trajectory/basic.json",
    "swe_agent": "swe-agent/query/run.traj",
    "mini_swe_agent": "mini-swe-agent/run.traj.json",
    "atif": "atif/trajectory.json",
    "inspect_ai": "inspect-ai/log_read_sample.json",
}
CASES = [*LINES.items(), *DOCUMENTS.items()]
USAGE_KEYS = frozenset(
    {"usage", "tokens", "metrics", "value", "usageMetadata", "token_usages"}
    | {"tokensIn", "tokensOut", "cacheReads", "cacheWrites"}
)
WRONG = (None, True, -1, 0.5, "", "text", [], [None], {}, {"type": 5}, 10**30)

# What an export of nothing looks like, and how many rows stand in it.
EMPTY: dict[str, tuple[str, int]] = {
    "pi": ('{"type":"session","id":"s","cwd":"/work"}\n', 1),
    "gemini_cli": ('{"sessionId":"s","projectHash":"0","messages":[]}', 0),
    "copilot_cli": ('{"type":"session.start","data":{"copilotVersion":"1"}}\n', 1),
    "opencode": ('{"info":{"id":"s","projectID":"p","time":{"created":1}},"messages":[]}', 1),
    "goose": ('{"working_dir":"/work","description":"","message_count":0}\n', 1),
    "cline": ("[]", 0),
    "cline_sdk": ('{"sessionId":"s","agent":"lead","updated_at":"x","messages":[]}', 0),
    "nock": ("[]", 0),
    "aider": ("", 0),
    "openhands_completions": ('{"messages":[],"kwargs":{}}', 1),
    "openhands_trajectory": ("[]", 0),
    "openhands_events": ('{"persistence_dir":"/work","stats":{"usage_to_metrics":{}}}', 1),
    "swe_agent": ('{"trajectory":[],"history":[],"info":{}}', 1),
    "mini_swe_agent": ('{"info":{"mini_version":"1"},"messages":[]}', 0),
    "atif": ('{"schema_version":"ATIF-v1.6","agent":{},"steps":[]}', 0),
    "inspect_ai": ('{"version":2,"status":"cancelled","eval":{"task":"t"},"samples":[]}', 1),
    "kimi": ('{"type":"metadata","protocol_version":"1.4"}\n', 1),
    "qwen_code": ("", 0),
}


def reader(name: str) -> Any:
    return import_module(f"hitledger.logs.{name}")


def reading(name: str, content: bytes, file: str = "log.json") -> Reading:
    return read(reader(name), LogFile(None, file, content))


def stored(path: str) -> list[Any]:
    """The JSON values of a fixture: its lines, or the one document."""
    text = (FIXTURES / path).read_text()
    return [json.loads(line) for line in text.splitlines()] if path.endswith(".jsonl") else [json.loads(text)]


def content(values: list[Any]) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def changed(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """The value with every object in it changed, those in JSON texts too."""
    if isinstance(value, dict):
        return change({key: changed(item, change) for key, item in value.items()})
    if isinstance(value, list):
        return [changed(item, change) for item in value]
    if isinstance(value, str) and value.startswith('{"'):
        return json.dumps(changed(json.loads(value), change))
    return value


def figures(calls: list[Call]) -> list[Any]:
    return [(usage(call), call.model, call.events, call.logged_cost, call.started_at) for call in calls]


@pytest.mark.parametrize(("name", "path"), CASES)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_truncated(name: str, path: str, share: float) -> None:
    whole = (FIXTURES / path).read_bytes()
    full = reading(name, whole, path)
    cut = reading(name, whole[: int(len(whole) * share)], path)
    assert len(cut.calls) <= len(full.calls)
    assert cut.skips
    assert any("the file ends inside" in reason or "not valid JSON" in reason for _, reason in cut.skips)


def test_truncated_history_of_aider() -> None:
    whole = (FIXTURES / "aider/.aider.llm.history").read_bytes()
    assert len(reading("aider", whole[:300]).calls) == 1


@pytest.mark.parametrize(("name", "path"), CASES)
def test_missing_usage(name: str, path: str) -> None:
    without = changed(stored(path), lambda data: {key: data[key] for key in data if key not in USAGE_KEYS})
    text = content(without).replace(b'\\"usage\\"', b'\\"other\\"')  # in the event streams of nock
    full, bare = reading(name, content(stored(path)), path), reading(name, text, path)
    assert all(call.usage is None for call in bare.calls)
    if name not in ("gemini_cli", "openhands_events", "opencode", "pi"):  # a request is known there by its usage
        assert len(bare.calls) >= len(full.calls)
    assert sum(bare.known.values()) + len(bare.calls) + len(bare.skips) == bare.ledgers[0].rows


@pytest.mark.parametrize(("name", "path"), CASES)
def test_newer_schema_with_unknown_fields(name: str, path: str) -> None:
    def newer(data: dict[str, Any]) -> dict[str, Any]:
        return {"aNewField": {"x": [1]}, **data, "anotherOne": None} if data else data

    old, new = reading(name, content(stored(path)), path), reading(name, content(changed(stored(path), newer)), path)
    if name == "nock":  # its responses are event streams inside of texts, left as they are
        assert figures(new.calls) == figures(old.calls)
    assert [usage(call) for call in new.calls] == [usage(call) for call in old.calls]
    assert new.known == old.known


@pytest.mark.parametrize(("name", "path"), LINES.items())
def test_rows_of_the_wrong_type(name: str, path: str) -> None:
    values = stored(path)
    full = reading(name, content(values), path)
    odd = reading(name, content([values[0], 5, "text", None, [1, 2], {}, *values[1:]]), path)
    assert [usage(call) for call in odd.calls] == [usage(call) for call in full.calls]
    assert odd.ledgers[0].rows == full.ledgers[0].rows + 5
    assert len(odd.skips) >= 4


@pytest.mark.parametrize(("name", "path"), CASES)
def test_any_value_of_the_wrong_type(name: str, path: str) -> None:
    """Every value in turn (a fixed sample of them) becomes something else; nothing raises, every row is counted."""
    chance = random.Random(7)
    places = list(_places(stored(path)))
    for place in chance.sample(places, min(len(places), 150)):
        values = stored(path)
        target = values
        for step in place[:-1]:
            target = target[step]
        target[place[-1]] = chance.choice(WRONG)
        reading(name, content(values), path)


def _places(value: Any, before: tuple[Any, ...] = ()) -> Any:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield (*before, key)
        yield from _places(item, (*before, key))


@pytest.mark.parametrize("name", EMPTY)
def test_empty_export(name: str) -> None:
    text, rows = EMPTY[name]
    found = reading(name, text.encode())
    calls = 1 if name == "openhands_completions" else 0  # a request without messages was still sent
    assert (len(found.calls), found.ledgers[0].rows, found.skips) == (calls, rows, [])


def test_every_reader_of_an_agent_is_here() -> None:
    assert {*LINES, *DOCUMENTS, "aider"} == EMPTY.keys()


@pytest.mark.parametrize(("name", "path"), CASES)
def test_detected_by_content_and_by_one_reader_only(name: str, path: str, tmp_path: Path) -> None:
    from hitledger.logs.detect import detect

    renamed = tmp_path / "renamed.bin"
    renamed.write_bytes((FIXTURES / path).read_bytes())
    assert detect(LogFile(renamed, "renamed.bin")).format == reader(name).FORMAT
