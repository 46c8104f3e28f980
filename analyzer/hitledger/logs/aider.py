"""Aider's `.aider.llm.history`: every prompt in full, as text; no usage and no model."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from hitledger.errors import HitledgerError
from hitledger.logs.files import MAX_ROW_BYTES, LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.packed import DAMAGE
from hitledger.segments import Api, Layout
from hitledger.types import Call, Evidence, Place

FORMAT = "aider"
ASKED, ANSWERED = "TO LLM ", "LLM RESPONSE "
RULE = "-------"
ROLES = ("SYSTEM", "USER", "ASSISTANT", "TOOL", "FUNCTION")
LINE = re.compile(rf"^({'|'.join(ROLES)})(?: (.*))?$")
FIRST = re.compile(r"^\s*(TO LLM|LLM RESPONSE) \d{4}-\d\d-\d\dT")


def sniff(file: LogFile) -> bool:
    """Starts with a dated block."""
    try:
        return bool(FIRST.match(file.head().decode(errors="replace")))
    except HitledgerError:
        return False


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order. One block (a prompt, an answer) is one row."""
    layout = Layout()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        asked: _Block | None = None
        for block in _blocks(file, ledger):
            if block.kind == ASKED:
                if asked:
                    yield _call(file.name, asked, None, ledger, layout)
                asked = block
            elif asked:
                ledger.known("response")
                yield _call(file.name, asked, block, ledger, layout)
                asked = None
            else:
                ledger.known("response")
        if asked:
            yield _call(file.name, asked, None, ledger, layout)


@dataclass(slots=True)
class _Block:
    """From one dated line to the next."""

    row: int  # line number of its dated line
    kind: str
    time: datetime | None
    lines: list[str] = field(default_factory=list)


def _blocks(file: LogFile, ledger: FileLedger) -> Iterator[_Block]:
    block: _Block | None = None
    for number, line in _lines(file, ledger):
        kind = ASKED if line.startswith(ASKED) else ANSWERED if line.startswith(ANSWERED) else ""
        time = instant(line[len(kind) :]) if kind else None
        if time is not None:
            if block:
                yield block
            ledger.count_rows()
            block = _Block(number, kind, time)
        elif block:
            block.lines.append(line)
        elif line.strip():
            ledger.count_rows()
            ledger.skip(number, "text before the first dated block")
    if block:
        yield block


def _lines(file: LogFile, ledger: FileLedger) -> Iterator[tuple[int, str]]:
    """Lines from 1; a stream that breaks half way is one skipped row."""
    number = 0
    try:
        with file.open() as stream:
            while raw := stream.readline(MAX_ROW_BYTES):
                number += 1
                ledger.bytes_read += len(raw)
                yield number, raw.decode(errors="replace").rstrip("\r\n")
    except DAMAGE as error:
        ledger.count_rows()
        ledger.skip(number + 1, f"the rest cannot be read: {error}")


def _messages(block: _Block) -> list[dict[str, str]]:
    """The messages between the rules, each line without its role. A message can change its role only at a rule."""
    messages: list[dict[str, str]] = []
    fresh = True
    for line in block.lines:
        found = LINE.match(line)
        if line == RULE:
            fresh = True
        elif found:
            role, content = found.group(1).lower(), found.group(2) or ""
            if fresh or messages[-1]["role"] != role:
                messages.append({"role": role, "content": content})
            else:
                messages[-1]["content"] += "\n" + content
            fresh = False
    return messages


def _call(file: str, asked: _Block, answer: _Block | None, ledger: FileLedger, layout: Layout) -> Call:
    ledger.call()
    messages = _messages(asked)
    said = "\n".join(line.partition(" ")[2] for line in answer.lines) if answer else None
    return Call(
        id=f"{file}:{asked.row}",
        session=file,
        agent="main",
        place=Place(file, asked.row),
        provider="",
        model="",
        evidence=Evidence.EXACT,
        prompt=layout.prompt({"messages": messages}, Api.CHAT),
        api=Api.CHAT,
        started_at=asked.time,
        ended_at=answer.time if answer else None,
        generated_text=said,
        notes=("usage_missing", *(() if answer else ("no_response",))),
    )
