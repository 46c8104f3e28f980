"""LMCache agent traces: lines of `{timestamp, session_id, input, output}`, prompts as flattened text.

The text is exact, the chat template and special tokens around it are not in the trace, and neither are the model and
usage: such calls are for the engine columns. `timestamp` is in microseconds.
"""

from collections.abc import Iterator
from typing import Any

from hitledger.logs.fields import mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.instants import instant
from hitledger.segments import Layout
from hitledger.types import Call, Evidence, Kind, Place, Prompt, Segment, Tier, prompt_of

FORMAT = "lmcache"
CHARS_PER_SEGMENT = 512  # prompts that share a prefix share segments, so a long trace stays small


def sniff(file: LogFile) -> bool:
    """Lines with a flattened prompt, its answer and a session."""
    return any(_is_call(row) for row in file.head_rows())


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in the order of the lines."""
    layout = Layout()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for row in file.rows(ledger):
            if not _is_call(row.data):
                ledger.skip(row.number, "no text input and output in this line")
                continue
            ledger.call()
            yield Call(
                id=f"{file.name}:{row.number}",
                session=text(row.data.get("session_id")),
                agent="main",
                place=Place(file.name, row.number),
                provider="",
                model=text(row.data.get("model")),
                evidence=Evidence.EXACT,
                prompt=flattened(row.data["input"], layout),
                started_at=instant(row.data.get("timestamp")),
                generated_text=row.data["output"],
            )


def flattened(prompt: str, layout: Layout) -> Prompt:
    """A flat text cut at line ends from its start, so that the same beginning gives the same segments."""
    segments: list[Segment] = []
    start = end = 0
    for line in prompt.splitlines(keepends=True):
        end += len(line)
        if end - start >= CHARS_PER_SEGMENT:
            segments.append(_segment(prompt, start, end, layout))
            start = end
    if end > start:
        segments.append(_segment(prompt, start, end, layout))
    return prompt_of(tuple(segments))


def _segment(prompt: str, start: int, end: int, layout: Layout) -> Segment:
    return layout.text(prompt[start:end], Kind.TEXT, Tier.MESSAGES, f"input[{start}:{end}]", "user")


def _is_call(row: Any) -> bool:
    data = mapping(row)
    texts = isinstance(data.get("input"), str) and isinstance(data.get("output"), str)
    return texts and isinstance(data.get("session_id"), str) and "timestamp" in data
