"""Content blocks of a transcript as segments: digest and length, no text kept, nothing written out again."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from msgspec.structs import replace

from hitledger.layouts.blocks import KIND_OF_TYPE
from hitledger.logs.claude_code.row import Entry
from hitledger.segments import Layout, digest_of
from hitledger.types import Kind, Segment, Tier

TOO_DEEP = "(nested too deep)"
LAYOUT = Layout(keep_text=False)
THINKING = tuple(name for name, kind in KIND_OF_TYPE.items() if kind is Kind.THINKING)


def tally_of(entries: Sequence[Entry]) -> tuple[int, int]:
    """How many segments rows come to, as `cut` makes them, and how many of them are thinking."""
    count = thinking = 0
    for _, row, _, _ in entries:
        content: Any = row.message.content  # type: ignore[union-attr]
        if type(content) is list:
            count += len(content)
            for block in content:
                if block.type in THINKING:
                    thinking += 1
        elif type(content) is str:
            count += 1
    return count, thinking


def chars_of(content: Any) -> int:
    """About how many characters of an answer the model wrote: texts, thinking, arguments of tool calls."""
    if type(content) is not list:
        return len(content) if type(content) is str else 0
    return sum(len(text) for block in content if isinstance(block, dict) for text in _written_in(block))


def _written_in(block: Mapping[str, Any]) -> list[str]:
    arguments = block.get("input")
    written = arguments.values() if isinstance(arguments, dict) else (block.get("text"), block.get("thinking"))
    return [text for text in written if isinstance(text, str)]


def cut(content: Any, role: str, path: str, opens_message: bool) -> list[Segment]:
    """The segments of one row's content, a string or a list of blocks at `path[i]`.

    The four kinds of block that nearly all rows hold are cut here: over their own text, without the JSON around it.
    Anything else is laid out as every other reader does it.
    """
    if isinstance(content, str):
        return [_segment(Kind.TEXT, path, role, content, opens_message)]
    if not isinstance(content, list):
        return []
    return [
        _segment_of(block, role, f"{path}[{index}]", opens_message and not index) for index, block in enumerate(content)
    ]


def _segment_of(block: Any, role: str, path: str, opens_message: bool) -> Segment:
    try:
        simple = _simple(block, role, path, opens_message)
        if simple is not None:
            return simple
        (segment,) = LAYOUT.blocks([block], role, path)
        return replace(segment, path=path, opens_message=opens_message)
    except (AttributeError, TypeError, ValueError, RecursionError):  # made to break readers: its length is kept
        kind = Kind.THINKING if isinstance(block, Mapping) and block.get("type") in THINKING else Kind.TEXT
        return _segment(kind, path, role, f"{TOO_DEEP} {chars_of([block])}", opens_message)


def reminder(attachment: Mapping[str, Any], path: str, opens_message: bool) -> Segment:
    """What the program puts into the prompt for an attachment: its words are not logged, only what they say."""
    return _segment(Kind.TEXT, path, "user", _written(attachment), opens_message, str(attachment.get("type")))


def _simple(block: Any, role: str, path: str, opens_message: bool) -> Segment | None:
    """The segment of a text, thinking, tool-use or plain tool-result block; None for any other."""
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    if kind == "tool_result":
        text = block.get("content")
        if isinstance(text, str):
            return _segment(Kind.TOOL_RESULT, path, role, text, opens_message, str(block.get("tool_use_id", "")))
    elif kind == "tool_use":
        name, arguments = str(block.get("id", "")), block.get("input")
        text = f"{block.get('name')}{_written(arguments)}"
        return _segment(Kind.TOOL_USE, path, role, text, opens_message, name)
    elif kind == "text":
        text = block.get("text")
        if isinstance(text, str):
            return _segment(Kind.TEXT, path, role, text, opens_message)
    elif kind == "thinking":
        text = block.get("thinking")
        if isinstance(text, str):  # an empty text is one that the program hides; its signature tells them apart
            return _segment(Kind.THINKING, path, role, text or str(block.get("signature", "")), opens_message)
    return None


def _written(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # orjson reads 1,024 levels and writes 254
        return TOO_DEEP


def _segment(kind: Kind, path: str, role: str, text: str, opens_message: bool, name: str = "") -> Segment:
    digest = digest_of(kind, role, f"{name}\0{text}" if name else text)
    return Segment(kind, Tier.MESSAGES, path, role, digest, len(text), None, None, opens_message, name)
