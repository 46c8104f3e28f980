"""A row of a transcript: the fields that decide something, decoded straight from its line. All others are passed over."""

from collections.abc import Sequence
from itertools import filterfalse
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from hitledger.logs.claude_code.figures import Figures, other_figures
from hitledger.logs.files import row_value

Counts = TypeVar("Counts")  # what the usage is decoded to


class Block(msgspec.Struct, gc=False):
    """A content block. Its text is read when a prompt is cut."""

    type: Any = None


# Fields stand in the order that rows have them in: the decoder looks for the next one first.


class Message(msgspec.Struct, Generic[Counts], gc=False):
    """What was sent to the model or came from it."""

    model: Any = None
    id: Any = None
    content: str | list[Block] | UnsetType | None = UNSET
    usage: Counts | None = None
    diagnostics: Any = None


class ToolResult(msgspec.Struct, gc=False):
    """The program's own copy of a result."""

    agentId: Any = None


class Row(msgspec.Struct, Generic[Counts], gc=False):
    """One row. What has no type here can be of any: what is made of it has to bear that."""

    parentUuid: Any = UNSET
    isSidechain: Any = None
    cwd: Any = None
    sessionId: Any = None
    version: Any = None
    agentId: Any = None
    type: Any = None
    message: Message[Counts] | None = None
    requestId: Any = None
    uuid: Any = UNSET
    timestamp: Any = None
    toolUseResult: ToolResult | str | list[Any] | None = None
    isMeta: Any = None
    isCompactSummary: Any = None
    isApiErrorMessage: Any = None
    effort: Any = None
    costUSD: Any = None
    subtype: Any = None
    data: Any = None
    attachment: Any = None
    compactMetadata: Any = None
    microcompactMetadata: Any = None


Entry = tuple[int, Row[Any], bytes, int]  # number of the row from 1, the row, its line, the place of its first byte

_decode = msgspec.json.Decoder(Row[Figures]).decode
_decode_any_usage = msgspec.json.Decoder(Row[dict[str, Any]]).decode
_UNTYPED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def rows_of(lines: Sequence[bytes]) -> list[Row[Any]]:
    """The rows on some lines. Raises ValueError with the reason where one has none."""
    found: list[Row[Any]] = []
    left = iter(lines)
    while len(found) < len(lines):
        try:
            found.extend(map(_decode, left))  # keeps what came before a row that is refused
        except msgspec.ValidationError:
            found.append(_unusual(lines[len(found)]))
        except _UNTYPED:
            found.append(_untyped(row_value(lines[len(found)])))
    for line in filterfalse(bytes.isascii, lines):
        try:
            line.decode()  # of the fields that are passed over, this alone is not checked
        except UnicodeDecodeError:
            row_value(line)  # says what is wrong
    return found


def _unusual(line: bytes) -> Row[Any]:
    """A row whose fields, or those of its usage, have other types or names than usual."""
    try:
        row: Row[Any] = _decode_any_usage(line)
    except _UNTYPED:
        return _untyped(row_value(line))
    if row.message is not None and row.message.usage is not None:
        row.message.usage = other_figures(row.message.usage)
    return row


def _untyped(data: Any) -> Row[Any]:
    """A row that was mended, or whose fields have other types than usual."""
    if type(data) is not dict:
        raise ValueError(f"a {type(data).__name__}, not an object")
    fields = {name: data[name] for name in Row.__struct_fields__ if name in data}
    if type(fields.get("message")) is dict:
        message = fields["message"]
        fields["message"] = Message(**{name: message[name] for name in Message.__struct_fields__ if name in message})
        usage = message.get("usage")
        fields["message"].usage = other_figures(usage) if type(usage) is dict else None
        if type(message.get("content")) is list:
            fields["message"].content = [
                Block(block.get("type") if type(block) is dict else None) for block in message["content"]
            ]
    else:
        fields.pop("message", None)
    if type(fields.get("toolUseResult")) is dict:
        fields["toolUseResult"] = ToolResult(fields["toolUseResult"].get("agentId"))
    return Row(**fields)
