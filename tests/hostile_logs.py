"""Logs made to harm whoever reads a report on them: attacks and made-up secrets in every place a log has text."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ATTACK = (
    "</script><script>window.ran=1</script><img src=x onerror=alert(2)><svg/onload=alert(3)>{{7*7}}{% raw %}"
    "${7*7}\x1b[31m\x1b]0;t\x07\x9b2J\u202eabc\u2066\U000e0041`|\"'&\r\n@team #1 ![x](http://h.test/p.png)"
)
BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"
KEYS = {  # each in a place of its own, so that a leak names its place
    place: f"sk-ant-api03-{place}-{BODY}"
    for place in (
        "file", "session", "model", "tool", "schemakey", "system", "message", "toolid", "callid", "tier", "header",
        "metadata", "cwd", "agent", "reason", "branch", "event", "param", "skipped", "odd", "key",
    )
}  # fmt: skip


def evil(place: str) -> str:
    """An attack with the secret of this place in it."""
    return f"{KEYS[place]} {ATTACK}"


def bodies(folder: Path) -> None:
    """Request and response bodies under a hostile file name; each call breaks the prefix in another way."""
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"tool": evil("tool") + "2"},
        {"system": evil("system") + "A" * 1_000_000},
        {"schema": evil("schemakey") + "3"},
        {"message": evil("message") + " other " + ATTACK * 3},
        {"parameter": evil("param")},
        {"model": evil("model") + "x"},
        {"header": evil("header")},
    )
    rows = [json.dumps(_exchange(number, change)) for number, change in enumerate(changes)]
    rows += [json.dumps({evil("odd"): evil("skipped")}), f'{{"request": {evil("skipped")}']
    name = f"x {KEYS['file']} <img src=x onerror=alert(1)> {{{{7*7}}}}\x1b[31m\u202e.jsonl"
    (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


def _exchange(number: int, change: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {change.get("schema", evil("schemakey")): {"type": "string"}}}
    tools = [
        {"name": change.get("tool", evil("tool")), "description": "A tool. " * 300, "input_schema": schema},
        {"name": f"second {evil('tool')}", "description": "x", "input_schema": {}},
    ]
    request = {
        "model": change.get("model", evil("model")) if number > 3 else "claude-sonnet-4-5",
        "max_tokens": 100,
        "tools": tools,
        "system": [
            {"type": "text", "text": "Be brief. " * 800 + change.get("system", ""), "cache_control": {"type": "ephemeral"}}
        ],
        "messages": [
            {"role": "user", "content": change.get("message", evil("message"))},
            {"role": "assistant", "content": [{"type": "tool_use", "id": evil("toolid"), "name": "t", "input": {evil("key"): 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": evil("toolid"), "content": f"n{number}"}]},
        ],
        "metadata": {"user_id": evil("metadata")},
        "tool_choice": {"type": "tool", "name": change.get("parameter", "a")},
    }  # fmt: skip
    usage = {
        "input_tokens": 9, "cache_creation_input_tokens": 4_000, "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 4_000}, "output_tokens": 5, "service_tier": evil("tier"),
    }  # fmt: skip
    response = {
        "id": evil("callid"), "type": "message", "role": "assistant", "model": evil("model"), "stop_reason": evil("odd"),
        "content": [{"type": "text", "text": evil("message")}], "usage": usage,
    }  # fmt: skip
    at = datetime(2026, 3, 2, 9, number, tzinfo=UTC).isoformat()
    headers = {"anthropic-organization-id": change.get("header", "org"), evil("odd"): evil("header")}
    return {
        "timestamp": at, "session_id": evil("session"), "request": request, "response": response,
        "response_headers": headers, "response_status": 200, "id": evil("callid"),
    }  # fmt: skip


def transcript(folder: Path) -> None:
    """A transcript of Claude Code whose names are attacks, with a provider's reason for a miss."""
    start = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    rows: list[dict[str, Any]] = []
    for number in range(4):
        shared = {
            "isSidechain": False, "cwd": f"/home/{evil('cwd')}", "sessionId": evil("session"), "version": "2.1.60",
            "gitBranch": evil("branch"), "agentId": evil("agent") if number == 2 else None,
        }  # fmt: skip
        parent = rows[-1]["uuid"] if rows else None
        user = {"role": "user", "content": f"{evil('message')} {number}"}
        rows.append(
            {**shared, "type": "user", "parentUuid": parent, "uuid": f"u{number} {evil('event')}", "message": user,
             "timestamp": (start + timedelta(minutes=20 * number)).isoformat()}
        )  # fmt: skip
        message = {
            "id": f"msg_{number} {evil('callid')}", "type": "message", "role": "assistant", "model": evil("model"),
            "content": [{"type": "tool_use", "id": evil("toolid"), "name": evil("tool"), "input": {evil("key"): 1}}],
            "usage": {
                "input_tokens": 3, "cache_creation_input_tokens": 9_000, "cache_read_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 9_000}, "output_tokens": 9, "service_tier": "standard",
            },
            "diagnostics": {"cache_miss_reason": {"type": evil("reason")}},
        }  # fmt: skip
        rows.append(
            {**shared, "type": "assistant", "parentUuid": rows[-1]["uuid"], "uuid": f"a{number}", "message": message,
             "requestId": evil("callid"), "timestamp": (start + timedelta(minutes=20 * number, seconds=5)).isoformat()}
        )  # fmt: skip
    rows.append({"type": evil("odd"), "subtype": evil("event"), "content": evil("skipped")})
    (folder / "session.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def hostile_folder(folder: Path) -> Path:
    """Both logs, and a file of no known format with a secret in its name."""
    folder.mkdir(parents=True, exist_ok=True)
    bodies(folder)
    transcript(folder)
    (folder / f"ghp_{BODY}ZZZZ.jsonl").write_text(f"{evil('skipped')}\n", encoding="utf-8")
    return folder
