"""The two containers of Inspect AI logs, `.json` and the zip archive `.eval`, as samples; hostile archives are bounded."""

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hitledger.logs.fields import items, mapping
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger
from hitledger.logs.packed import DAMAGE
from hitledger.logs.values import opening, values

ZIP = b"PK\x03\x04"
MAX_MEMBER_BYTES = 256 * 2**20  # of one sample, unpacked
MAX_ARCHIVE_BYTES = 4 * 2**30  # of all samples of a file, unpacked
MAX_MEMBERS = 100_000
MAX_RESOLVED_CHARS = 64 * 2**20  # of all attachments put into one event
MAX_DEPTH = 32
HEADERS = ("header.json", "_journal/start.json")
BROKEN = (*DAMAGE, zipfile.BadZipFile, NotImplementedError, RuntimeError)  # RuntimeError: the member is encrypted


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of an evaluation. `cut`: the file ends inside it."""

    data: Mapping[str, Any]
    evaluation: Mapping[str, Any]  # the `eval` part of the header
    cut: bool = False


def is_inspect_log(file: LogFile) -> bool:
    """Whether a file is one of the two containers. Never raises."""
    try:
        if file.head().startswith(ZIP):
            with file.open() as stream, zipfile.ZipFile(stream) as archive:
                return any(name in archive.namelist() for name in HEADERS)
    except BROKEN:
        return False
    head = mapping(opening(file))
    return isinstance(head.get("eval"), dict) and "task" in head["eval"] and "status" in head


def samples(file: LogFile, ledger: FileLedger) -> Iterator[Sample]:
    """All samples; what cannot be read is a skipped row."""
    if file.head().startswith(ZIP):
        try:
            with file.open() as stream, zipfile.ZipFile(stream) as archive:
                yield from _members(archive, ledger)
        except BROKEN as error:
            _skip(ledger, f"the archive cannot be read: {error}")
        return
    for value in values(file, ledger):
        document = mapping(value.data)
        found = items(document.get("samples"))
        for position, sample in enumerate(found, 1):
            yield Sample(mapping(sample), mapping(document.get("eval")), value.cut and position == len(found))


def _members(archive: zipfile.ZipFile, ledger: FileLedger) -> Iterator[Sample]:
    names = archive.namelist()
    header = next(name for name in HEADERS if name in names)
    evaluation = mapping(mapping(_json(archive, header, MAX_MEMBER_BYTES, ledger)[0]).get("eval"))
    wanted = sorted(name for name in names[:MAX_MEMBERS] if name.startswith("samples/") and name.endswith(".json"))
    left = MAX_ARCHIVE_BYTES
    for position, name in enumerate(wanted):
        if left <= 0:
            _skip(
                ledger, f"{len(wanted) - position} samples: the archive unpacks to more than {MAX_ARCHIVE_BYTES} bytes"
            )
            break
        data, size = _json(archive, name, min(left, MAX_MEMBER_BYTES), ledger)
        left -= size
        if data is not None:
            yield Sample(mapping(data), evaluation)
    if len(names) > MAX_MEMBERS:
        _skip(ledger, f"{len(names) - MAX_MEMBERS} members beyond the first {MAX_MEMBERS}")


def _json(archive: zipfile.ZipFile, name: str, limit: int, ledger: FileLedger) -> tuple[Any, int]:
    """A member's JSON value and its unpacked size. The sizes that the archive claims are not trusted."""
    try:
        with archive.open(name) as member:
            content = member.read(limit + 1)
    except BROKEN as error:
        _skip(ledger, f"{name[:120]}: cannot be read: {error}")
        return None, 0
    if len(content) > limit:
        _skip(ledger, f"{name[:120]}: unpacks to more than {limit} bytes")
        return None, len(content)
    try:
        return orjson.loads(content), len(content)
    except orjson.JSONDecodeError as error:
        _skip(ledger, f"{name[:120]}: not valid JSON: {error}")
        return None, len(content)


def _skip(ledger: FileLedger, reason: str) -> None:
    ledger.count_rows()
    ledger.skip(ledger.rows, reason)


def resolved(value: Any, attachments: Mapping[str, Any]) -> Any:
    """A value with its `attachment://` (and early `tc://`) strings replaced by what they stand for, at any depth.

    References are few bytes and what they stand for can be large: beyond `MAX_RESOLVED_CHARS` they stay references.
    """
    return _Resolver(attachments).value(value, MAX_DEPTH)


class _Resolver:
    def __init__(self, attachments: Mapping[str, Any]) -> None:
        self.attachments = attachments
        self.left = MAX_RESOLVED_CHARS

    def value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if depth and isinstance(value, list):
            return [self.value(item, depth - 1) for item in value]
        if depth and isinstance(value, dict):
            return {key: self.value(item, depth - 1) for key, item in value.items()}
        return value

    def text(self, value: str) -> str:
        scheme, found, key = value.partition("://")
        attached = self.attachments.get(key) if found and scheme in ("attachment", "tc") else None
        if not isinstance(attached, str) or len(attached) > self.left:
            return value
        self.left -= len(attached)
        return attached
