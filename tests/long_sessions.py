"""Sessions of any length in the shapes of several agents' logs: one call after the other, each adding some text."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 1, tzinfo=UTC)
STEP = 500  # tokens that each call adds

Row = dict[str, Any]


class Clock:
    """Times of one session; `pause` seconds between two calls."""

    def __init__(self, pause: int) -> None:
        self.pause = pause

    def at(self, call: int) -> datetime:
        """When a call was sent."""
        return START + timedelta(seconds=self.pause * call)

    def iso(self, call: int, after: int = 0) -> str:
        """The same as text, some seconds later."""
        return (self.at(call) + timedelta(seconds=after)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def milliseconds(self, call: int) -> int:
        """The same since 1970."""
        return int(self.at(call).timestamp() * 1000)


def result(call: int) -> str:
    """What a tool answered."""
    return f"line {call} of a file\n" * 5


def claude_code(calls: int, clock: Clock) -> Iterator[Row]:
    """A transcript of Claude Code."""

    def row(uuid: str, parent: str | None, call: int, kind: str, message: Row, **more: Any) -> Row:
        times = {"timestamp": clock.iso(call, 1 if kind == "assistant" else 0), "sessionId": "s", "version": "2.1.50"}
        return {"uuid": uuid, "parentUuid": parent, "type": kind, "message": message, **times, **more}

    yield row("r0", None, 0, "user", {"role": "user", "content": "go"})
    for call in range(calls):
        use = {"type": "tool_use", "id": f"t{call}", "name": "Read", "input": {"line": call}}
        usage = {"input_tokens": 3, "cache_read_input_tokens": STEP * call, "cache_creation_input_tokens": STEP}
        message = {"id": f"m{call}", "model": "claude-opus-4-5", "role": "assistant", "content": [use]}
        message["usage"] = usage | {"output_tokens": 50}
        yield row(f"a{call}", f"r{call}", call, "assistant", message, requestId=f"q{call}")
        answer = {"type": "tool_result", "tool_use_id": f"t{call}", "content": result(call)}
        yield row(f"r{call + 1}", f"a{call}", call + 1, "user", {"role": "user", "content": [answer]})


def codex(calls: int, clock: Clock) -> Iterator[Row]:
    """A rollout of Codex."""

    def row(call: int, kind: str, payload: Row, after: int = 0) -> Row:
        return {"timestamp": clock.iso(call, after), "type": kind, "payload": payload}

    meta = {"id": "s", "cwd": "/x", "originator": "codex_cli_rs", "cli_version": "0.50.0", "timestamp": clock.iso(0)}
    yield row(0, "session_meta", meta)
    yield row(0, "turn_context", {"cwd": "/x", "model": "gpt-5.1-codex", "effort": "medium"})
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    yield row(0, "response_item", said)
    read = total = 0
    for call in range(calls):
        use = {"type": "function_call", "name": "shell", "arguments": f'{{"line":{call}}}', "call_id": f"t{call}"}
        yield row(call, "response_item", use, 1)
        prompt, cached = 10_000 + STEP * call, (10_000 + STEP * (call - 1)) // 128 * 128 if call else 0
        read, total = read + cached, total + prompt
        counts = [("total_token_usage", total, read, call + 1), ("last_token_usage", prompt, cached, 1)]
        info = {
            name: {"input_tokens": n, "cached_input_tokens": c, "output_tokens": 50 * k, "total_tokens": n + 50 * k}
            for name, n, c, k in counts
        }
        yield row(call, "event_msg", {"type": "token_count", "info": info}, 1)
        answer = {"type": "function_call_output", "call_id": f"t{call}", "output": result(call)}
        yield row(call + 1, "response_item", answer)


def pi(calls: int, clock: Clock) -> Iterator[Row]:
    """A session of pi."""

    def row(identifier: str, parent: str | None, call: int, message: Row) -> Row:
        times = {"timestamp": clock.iso(call), "message": message | {"timestamp": clock.milliseconds(call)}}
        return {"type": "message", "id": identifier, "parentId": parent, **times}

    yield {"type": "session", "version": 3, "id": "s", "timestamp": clock.iso(0), "cwd": "/x"}
    yield row("r0", None, 0, {"role": "user", "content": [{"type": "text", "text": "go"}]})
    for call in range(calls):
        use = {"type": "toolCall", "id": f"t{call}", "name": "bash", "arguments": {"line": call}}
        usage = {"input": 3, "output": 50, "cacheRead": STEP * call, "cacheWrite": STEP}
        model = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-5", "usage": usage}
        yield row(
            f"a{call}", f"r{call}", call, {"role": "assistant", "content": [use], "stopReason": "toolUse", **model}
        )
        answer = {"role": "toolResult", "toolCallId": f"t{call}", "toolName": "bash", "isError": False}
        text = {"content": [{"type": "text", "text": result(call)}]}
        yield row(f"r{call + 1}", f"a{call}", call + 1, answer | text)


def gemini(calls: int, clock: Clock) -> Iterator[Row]:
    """A session of Gemini CLI."""
    yield {"sessionId": "s", "projectHash": "0" * 64, "startTime": clock.iso(0), "kind": "main"}
    yield {"id": "u", "timestamp": clock.iso(0), "type": "user", "content": [{"text": "go"}]}
    for call in range(calls):
        prompt = 5_000 + STEP * call
        tokens = {"input": prompt, "output": 50, "cached": prompt - STEP if call else 0, "total": prompt + 50}
        response = {"id": f"t{call}", "name": "ls", "response": {"output": result(call)}}
        use = {"id": f"t{call}", "name": "ls", "args": {"line": call}, "result": [{"functionResponse": response}]}
        row = {"id": f"g{call}", "timestamp": clock.iso(call), "type": "gemini", "content": "", "tokens": tokens}
        yield row | {"model": "gemini-2.5-pro", "toolCalls": [use | {"status": "success"}]}


def qwen(calls: int, clock: Clock) -> Iterator[Row]:
    """A chat of Qwen Code."""

    def row(uuid: str, parent: str | None, call: int, kind: str, message: Row, **more: Any) -> Row:
        known = {"sessionId": "s", "timestamp": clock.iso(call), "cwd": "/x", "version": "0.21.13", "message": message}
        return {"uuid": uuid, "parentUuid": parent, "type": kind, **known, **more}

    yield row("r0", None, 0, "user", {"role": "user", "parts": [{"text": "go"}]})
    for call in range(calls):
        use = {"functionCall": {"id": f"t{call}", "name": "ls", "args": {"line": call}}}
        prompt = 5_000 + STEP * call
        usage = {"promptTokenCount": prompt, "candidatesTokenCount": 50, "totalTokenCount": prompt + 50}
        usage["cachedContentTokenCount"] = prompt - STEP if call else 0
        said = {"role": "model", "parts": [use]}
        yield row(f"a{call}", f"r{call}", call, "assistant", said, model="qwen3-coder-plus", usageMetadata=usage)
        response = {"functionResponse": {"id": f"t{call}", "name": "ls", "response": {"output": result(call)}}}
        yield row(f"r{call + 1}", f"a{call}", call + 1, "tool_result", {"role": "user", "parts": [response]})


ROWS = {"claude-code": claude_code, "codex": codex, "pi": pi, "gemini-cli": gemini, "qwen-code": qwen}


def write_session(folder: Path, agent: str, calls: int, pause: int) -> Path:
    """One session as its agent keeps it; returns what to audit."""
    folder.mkdir()
    clock = Clock(pause)
    if agent == "cline":
        return write_cline(folder, calls, clock)
    path = folder / ("session-0.jsonl" if agent == "gemini-cli" else "rollout-0.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS[agent](calls, clock)))
    return path


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
