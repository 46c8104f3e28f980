"""Sessions of agents that keep one document, several files or a database."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from long_clock import STEP, Clock, Row, page, result

MODEL = "claude-opus-4-5"


def chat_usage(call: int) -> Row:
    """The usage of a call that reads all of the prompt before it, as LiteLLM names it."""
    prompt = STEP * (call + 1) + 3
    read = {"prompt_tokens_details": {"cached_tokens": STEP * call}, "cache_read_input_tokens": STEP * call}
    return {"prompt_tokens": prompt, "completion_tokens": 50, "cache_creation_input_tokens": STEP, **read}


def opencode(calls: int, clock: Clock, steps: int = 1, cleared: int = 0) -> Row:
    """An export of opencode: messages of so many steps. Every so many calls the older tool results are cleared."""
    session = {"id": "ses", "projectID": "p", "time": {"created": clock.milliseconds(0)}}
    messages: list[Row] = [{"info": {"id": "msg", "sessionID": "ses", "role": "user"}, "parts": []}]
    for call in range(calls):
        at = clock.milliseconds(call)
        if call % steps == 0:
            info = {"id": f"msg{call:05}", "sessionID": "ses", "role": "assistant", "time": {"created": at}}
            messages.append({"info": info | {"modelID": MODEL, "providerID": "anthropic"}, "parts": []})
        time = {"end": at + 9}
        if cleared:
            time["compacted"] = clock.milliseconds((call // cleared + 1) * cleared) - 1
        state = {"input": {"line": call}, "output": page(call), "time": time}
        tokens = {"input": 3, "output": 50, "cache": {"read": STEP * call, "write": STEP}}
        own = {"messageID": messages[-1]["info"]["id"]}
        messages[-1]["parts"] += [
            {"id": f"{call:05}a", "type": "tool", "tool": "ls", "callID": f"t{call}", "state": state, **own},
            {"id": f"{call:05}b", "type": "step-finish", "tokens": tokens, **own},
        ]
    return {"info": session, "messages": messages}


def atif(calls: int, clock: Clock) -> Row:
    """A trajectory in Harbor's format."""
    steps: list[Row] = [{"source": "user", "message": "go", "timestamp": clock.iso(0)}]
    for call in range(calls):
        tokens = {"prompt_tokens": STEP * (call + 1) + 3, "completion_tokens": 50, "cached_tokens": STEP * call}
        step = {"source": "agent", "message": f"step {call}", "timestamp": clock.iso(call, 1), "metrics": tokens}
        steps.append(step | {"observation": {"results": [{"content": page(call)}]}})
    return {"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"model_name": MODEL}, "steps": steps}


def openhands(calls: int, clock: Clock) -> list[Row]:
    """A trajectory of OpenHands."""
    events: list[Row] = [{"source": "user", "action": "message", "message": "go", "timestamp": clock.iso(0)}]
    for call in range(calls):
        said = {"role": "assistant", "content": f"step {call}"}
        response = {"id": f"m{call}", "model": MODEL, "choices": [{"message": said}], "usage": chat_usage(call)}
        made = {"tool_call_id": f"t{call}", "model_response": response}
        event = {"source": "agent", "tool_call_metadata": made, "timestamp": clock.iso(call, 1)}
        events += [event | {"action": "run"}, event | {"observation": "run", "content": page(call)}]
    return events


def mini_swe_agent(calls: int, clock: Clock) -> Row:
    """A trajectory of mini-swe-agent with tools."""
    messages: list[Row] = [{"role": "system", "content": "You help."}, {"role": "user", "content": "go"}]
    for call in range(calls):
        use = {"id": f"t{call}", "type": "function", "function": {"name": "ls", "arguments": f'{{"line":{call}}}'}}
        response = {"id": f"m{call}", "created": clock.milliseconds(call) // 1000, "usage": chat_usage(call)}
        extra = {"response": response | {"model": MODEL}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [use], "extra": extra})
        messages.append({"role": "tool", "tool_call_id": f"t{call}", "content": page(call)})
    return {"trajectory_format": "mini-swe-agent-1", "info": {}, "messages": messages}


def swe_agent(calls: int, _: Clock) -> Row:
    """A trajectory of SWE-agent whose steps do not keep their prompts."""
    history: list[Row] = [{"role": "user", "content": "go", "agent": "main"}]
    steps: list[Row] = []
    for call in range(calls):
        history.append({"role": "assistant", "content": f"step {call}", "agent": "main"})
        history.append({"role": "user", "content": page(call), "agent": "main"})
        steps.append({"action": "ls", "observation": page(call), "thought": f"step {call}"})
    return {"trajectory": steps, "history": history, "info": {}}


def write_cline(folder: Path, calls: int, clock: Clock) -> Path:
    """A task of Cline: what was shown, and the conversation as it stands."""
    shown: list[Row] = [{"ts": clock.milliseconds(0), "type": "say", "say": "text", "text": "go"}]
    sent: list[Row] = [{"role": "user", "content": [{"type": "text", "text": "go"}], "ts": clock.milliseconds(0)}]
    for call in range(calls):
        data = {"request": "", "apiProtocol": "anthropic", "tokensIn": 3, "tokensOut": 50, "cost": 0.01}
        data |= {"cacheWrites": STEP, "cacheReads": STEP * call}
        at = clock.milliseconds(call)
        shown.append({"ts": at + 1, "type": "say", "say": "api_req_started", "text": json.dumps(data)})
        sent.append({"role": "assistant", "content": [{"type": "text", "text": f"step {call}"}], "ts": at + 2})
        sent.append({"role": "user", "content": [{"type": "text", "text": result(call)}], "ts": at + 3})
    task = folder / "tasks" / "bc93a6f7-0000-0000-0000-000000000000"
    task.mkdir(parents=True)
    (task / "ui_messages.json").write_text(json.dumps(shown))
    (task / "api_conversation_history.json").write_text(json.dumps(sent))
    return folder


def write_goose(folder: Path, calls: int, clock: Clock) -> Path:
    """A database of Goose with the usage of each answer beside it."""
    rows = [("user", json.dumps([{"type": "text", "text": "go"}]), clock.milliseconds(0) // 1000, "{}")]
    for call in range(calls):
        at = clock.milliseconds(call) // 1000
        use = {"type": "toolRequest", "id": f"t{call}", "toolCall": {"value": {"name": "ls"}}}
        tokens = {"input_tokens": STEP * (call + 1) + 3, "output_tokens": 50, "cache_read_tokens": STEP * call}
        rows.append(("assistant", json.dumps([use]), at + 1, json.dumps({"usage": tokens})))
        answer = {"type": "toolResponse", "id": f"t{call}", "toolResult": {"status": "success", "value": result(call)}}
        rows.append(("user", json.dumps([answer]), at + 2, "{}"))
    path = folder / "sessions.db"
    database = sqlite3.connect(path)
    model = json.dumps({"model_name": MODEL})
    database.execute(f"CREATE TABLE sessions AS SELECT 's' id, '/x' working_dir, '{model}' model_config_json")
    database.execute("CREATE TABLE messages (session_id, role, content_json, created_timestamp, metadata_json)")
    database.executemany("INSERT INTO messages VALUES ('s', ?, ?, ?, ?)", rows)
    database.commit()
    database.close()
    return path


DOCUMENTS: dict[str, Callable[[int, Clock], Any]] = {
    "opencode": opencode,
    "opencode, one message": lambda calls, clock: opencode(calls, clock, steps=calls),
    "atif": atif,
    "openhands": openhands,
    "mini-swe-agent": mini_swe_agent,
}
FILES: dict[str, Callable[[Path, int, Clock], Path]] = {"cline": write_cline, "goose": write_goose}
