"""A tree of made-up Claude Code transcripts, the same bytes every time: about 350 MB, 200 files, 40,000 calls.

    python benchmarks/transcripts.py FOLDER [--sessions 160] [--calls 240]

The rows have the shape of real ones: thinking, text and tool-use rows of one message, results with the copy that the
program keeps of them, parallel tool calls, user turns, gaps over five minutes, compaction, sub-agents, rows of no call.
Usage follows the cache rules (reads what the call before left, five minutes, thinking stripped at a user turn on the
older model), so an audit finds breaks at a realistic rate.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

MODELS = ("claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101")
WORDS = (
    *("read", "the", "cache", "entry", "of", "each", "layer", "and", "return", "a", "table", "with", "keys", "for"),
    *("every", "token", "in", "order", "before", "it", "is", "moved"),
)
HIDDEN_TOKENS = 18_000
STEPS_PER_TURN = 12
CALLS_BEFORE_COMPACTION = 96
SUBAGENT_EVERY = 4  # sessions; it makes as many calls as a sixth of a main transcript
BEYOND_ASCII = 0.04  # share of the texts that hold a character beyond ASCII, as in real sessions
CHARS_PER_TOKEN = 4
LIFETIME = timedelta(minutes=5)


def lines_of_code(random: Random, number: int) -> list[str]:
    """Lines as tool results hold them: indented, some with quotes."""
    found = []
    for _ in range(number):
        words = random.choices(WORDS, k=random.randint(3, 11))
        line = " " * (4 * random.randint(0, 3)) + " ".join(words)
        shape = random.random()
        if shape < 0.15:
            line = f'{line[:20]} = {{"{words[0]}": "{words[1]}", \'n\': {random.randint(0, 999)}}}'
        found.append(line)
    return found


@dataclass(slots=True)
class Writer:
    """One transcript file being written: ids, the chain of rows and the cache state."""

    random: Random
    code: list[str]
    session: str
    agent: str | None
    model: str
    clock: datetime
    rows: list[dict[str, Any]] = field(default_factory=list)
    parent: str | None = None
    prompt_tokens: int = HIDDEN_TOKENS
    thinking_tokens: int = 0
    left: int = 0  # what the call before left readable
    sent: datetime | None = None  # when the call before was sent

    def identifier(self, prefix: str = "", digits: int = 24) -> str:
        return prefix + f"{self.random.getrandbits(digits * 4):0{digits}x}"

    def uuid(self) -> str:
        text = self.identifier(digits=32)
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def text(self, low: int, high: int) -> str:
        start = self.random.randrange(len(self.code) - high)
        text = "\n".join(self.code[start : start + self.random.randint(low, high)])
        return text + " → größer" if self.random.random() < BEYOND_ASCII else text

    def tick(self, seconds: float) -> None:
        self.clock += timedelta(seconds=round(seconds, 3))

    def row(self, kind: str, parent: str | None = None, **rest: Any) -> str:
        """A row of the chain; returns its uuid."""
        uuid = self.uuid()
        row: dict[str, Any] = {
            "parentUuid": parent or self.parent,
            "isSidechain": self.agent is not None,
            "userType": "external",
            "cwd": "/home/user/project",
            "sessionId": self.session,
            "version": "2.1.6",
            "gitBranch": "main",
            "slug": "quiet-mapping-otter",
            "type": kind,
        }
        if self.agent:
            row["agentId"] = self.agent
        row.update(rest)
        row |= {"uuid": uuid, "timestamp": self.clock.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"}
        self.rows.append(row)
        self.parent = uuid
        return uuid

    def bare(self, kind: str, **rest: Any) -> None:
        """A row outside the chain."""
        self.rows.append({"type": kind} | rest)

    def user_turn(self) -> None:
        self.tick(self.random.choice((8, 10, 15, 25, 30, 45, 60, 60, 90, 120, 150, 180, 240, 400)))
        text = self.text(1, 6)
        self.row("user", message={"role": "user", "content": text})
        self.bare(
            "file-history-snapshot", messageId=self.parent, snapshot={"trackedFileBackups": {}}, isSnapshotUpdate=False
        )
        if self.model == MODELS[0]:  # the older model drops earlier thinking from the prompt
            self.left = max(HIDDEN_TOKENS, self.left - 2 * self.thinking_tokens) if self.thinking_tokens else self.left
            self.prompt_tokens -= self.thinking_tokens
            self.thinking_tokens = 0
        self.prompt_tokens += len(text) // CHARS_PER_TOKEN

    def usage(self) -> dict[str, Any]:
        expired = self.sent is not None and self.clock - self.sent > LIFETIME
        read = HIDDEN_TOKENS * 3 // 4 if expired else self.left
        self.sent = self.clock
        written = self.prompt_tokens - read
        self.left = self.prompt_tokens
        return {
            "input_tokens": 3,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 2,
            "service_tier": "standard",
        }

    def call(self, *, last: bool) -> None:
        """One request: its assistant rows, and the results of its tool calls unless it ends the turn."""
        self.tick(self.random.choice((1, 2, 4)))
        usage = self.usage()
        message, request = self.identifier("msg_01"), self.identifier("req_011C")
        thinking = self.text(2, 14)
        blocks: list[dict[str, Any]] = [
            {"type": "thinking", "thinking": thinking, "signature": self.identifier(digits=400)}
        ]
        if last or self.random.random() < 0.3:
            blocks.append({"type": "text", "text": self.text(1, 12)})
        tools = 0 if last else self.random.choice((1, 1, 1, 1, 2, 3))
        calls = [self.tool_use() for _ in range(tools)]
        blocks += calls
        output = sum(len(json.dumps(block)) for block in blocks) // CHARS_PER_TOKEN
        parents = []
        for index, block in enumerate(blocks):
            self.tick(self.random.uniform(0.4, 4))
            shown = usage | ({"output_tokens": output} if index == len(blocks) - 1 else {})
            self.row("assistant", message=self.message(message, block, shown), requestId=request)
            parents.append(self.parent)
        for block, parent in zip(calls, parents[len(blocks) - tools :], strict=True):
            self.tick(self.random.uniform(0.05, 2))
            self.result(block, parent)
        self.prompt_tokens += output
        self.thinking_tokens += len(thinking) // CHARS_PER_TOKEN + 100

    def message(self, identifier: str, block: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
        return {
            "model": self.model,
            "id": identifier,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }

    def tool_use(self) -> dict[str, Any]:
        path = f"/home/user/project/src/{self.random.choice(WORDS)}.py"
        arguments = {"file_path": path, "old_string": self.text(1, 5), "new_string": self.text(1, 6)}
        return {"type": "tool_use", "id": self.identifier("toolu_01"), "name": "Edit", "input": arguments}

    def result(self, block: dict[str, Any], parent: str | None) -> None:
        text = self.text(8, 70)
        content = [{"tool_use_id": block["id"], "type": "tool_result", "content": text}]
        kept = {"type": "text", "file": {"filePath": block["input"]["file_path"], "content": text, "numLines": 40}}
        self.row(
            "user",
            parent=parent,
            message={"role": "user", "content": content},
            toolUseResult=kept,
            sourceToolAssistantUUID=parent,
        )
        self.prompt_tokens += len(text) // CHARS_PER_TOKEN
        if self.random.random() < 0.1:
            self.bare("progress", data={"type": "hook_progress", "hookEvent": "PostToolUse"}, toolUseID=block["id"])

    def compaction(self) -> None:
        self.tick(20)
        before, self.parent = self.parent, None
        self.row(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=before,
            compactMetadata={"trigger": "auto", "preTokens": self.prompt_tokens},
        )
        summary = self.text(30, 80)
        self.row("user", message={"role": "user", "content": summary}, isCompactSummary=True)
        self.prompt_tokens = HIDDEN_TOKENS + len(summary) // CHARS_PER_TOKEN
        self.thinking_tokens, self.left = 0, HIDDEN_TOKENS


def session(random: Random, code: list[str], number: int, calls: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """One session: its main transcript, then that of its sub-agent if it has one."""
    start = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(hours=3 * number)
    main = Writer(random, code, "", None, MODELS[number % 2], start)
    main.session = main.uuid()
    turns(main, calls)
    yield f"{main.session}.jsonl", main.rows
    if number % SUBAGENT_EVERY == SUBAGENT_EVERY - 1:
        agent = Writer(random, code, main.session, main.identifier("a", 7), main.model, start + timedelta(minutes=1))
        turns(agent, calls // 6)
        yield f"{main.session}/subagents/agent-{agent.agent}.jsonl", agent.rows


def turns(writer: Writer, calls: int, before_compaction: int = CALLS_BEFORE_COMPACTION) -> None:
    """So many calls, a user turn before every twelfth."""
    for index in range(calls):
        if index and index % before_compaction == 0:
            writer.compaction()
        if index % STEPS_PER_TURN == 0:
            writer.user_turn()
        writer.call(last=index % STEPS_PER_TURN == STEPS_PER_TURN - 1)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """One transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def write_tree(folder: Path, sessions: int, calls: int) -> None:
    """Main transcripts with `calls` calls each in four project folders, and their sub-agents beside them."""
    random = Random(20260105)
    code = lines_of_code(random, 20_000)
    for number in range(sessions):
        for name, rows in session(random, code, number, calls):
            write_rows(folder / f"-home-user-project-{number % 4}" / name, rows)


def write_long(path: Path, calls: int) -> None:
    """One transcript that is never compacted."""
    random = Random(20260105)
    writer = Writer(random, lines_of_code(random, 20_000), "s", None, MODELS[1], datetime(2026, 1, 5, tzinfo=UTC))
    turns(writer, calls, before_compaction=calls)
    write_rows(path, writer.rows)


def main() -> None:
    """Write the tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sessions", type=int, default=160, help="main transcripts")
    parser.add_argument("--calls", type=int, default=240, help="calls of each main transcript")
    arguments = parser.parse_args()
    write_tree(arguments.folder, arguments.sessions, arguments.calls)


if __name__ == "__main__":
    main()
