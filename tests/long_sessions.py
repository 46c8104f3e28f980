"""Sessions of any length in the shapes of many logs: one call after the other. Here are agents' logs of lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from long_captures import CAPTURES
from long_clock import STEP, Clock, Row, result
from long_documents import DOCUMENTS, FILES


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


def kimi(calls: int, clock: Clock) -> Iterator[Row]:
    """A wire log of Kimi Code CLI."""

    def event(call: int, after: int, kind: str, **more: Any) -> Row:
        inner = {"type": kind, **more}
        return {"type": "context.append_loop_event", "event": inner, "time": clock.milliseconds(call) + after}

    yield {"type": "metadata", "protocol_version": "1.4", "created_at": clock.milliseconds(0)}
    yield {"type": "context.append_message", "message": {"role": "user", "content": "go"}}
    for call in range(calls):
        hashes = {"systemPromptHash": "a", "toolsHash": "b", "time": clock.milliseconds(call)}
        yield {"type": "llm.request", "kind": "loop", "provider": "kimi", "model": "kimi-k2.7-code", **hashes}
        yield event(call, 1, "tool.call", toolCallId=f"t{call}", name="Bash", args={"line": call})
        yield event(call, 2, "tool.result", toolCallId=f"t{call}", result={"output": result(call)})
        usage = {"inputOther": STEP, "output": 50, "inputCacheRead": STEP * call, "inputCacheCreation": 0}
        yield event(call, 3, "step.end", messageId=f"m{call}", usage=usage)


def copilot(calls: int, clock: Clock) -> Iterator[Row]:
    """Events of Copilot CLI, which say nothing of the usage of a call."""

    def row(kind: str, call: int, after: int = 0, **data: Any) -> Row:
        return {"type": kind, "data": data, "timestamp": clock.iso(call, after)}

    yield row("session.start", 0, sessionId="s", copilotVersion="1.0.77", selectedModel="claude-sonnet-4.5")
    yield row("system.message", 0, content="You help.")
    yield row("user.message", 0, content="go")
    for call in range(calls):
        use = {"toolCallId": f"t{call}", "name": "ls", "arguments": {"line": call}}
        yield row("assistant.message", call, 1, content="", toolRequests=[use], apiCallId=f"a{call}")
        yield row("tool.execution_complete", call, 2, toolCallId=f"t{call}", result={"content": result(call)})


ROWS = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "gemini-cli": gemini,
    "qwen-code": qwen,
    "kimi": kimi,
    "copilot-cli": copilot,
}
AGENTS = (*ROWS, *DOCUMENTS, *FILES)


def write_session(folder: Path, log: str, calls: int, pause: int) -> Path:
    """One session as its agent, or who captured it, keeps it; returns what to audit."""
    folder.mkdir()
    clock = Clock(pause)
    if log in FILES:
        return FILES[log](folder, calls, clock)
    if log in DOCUMENTS:
        path = folder / "session.json"
        path.write_text(json.dumps(DOCUMENTS[log](calls, clock)))
        return path
    path = folder / ("session-0.jsonl" if log == "gemini-cli" else "rollout-0.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in (ROWS | CAPTURES)[log](calls, clock)))
    return path
