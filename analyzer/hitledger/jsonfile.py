"""The two result files of this program as JSON: same value, same bytes; read back with the file and the fault named."""

from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from hitledger.errors import NothingToReadError

MAX_BYTES = 2 * 2**30


class Versioned(Protocol):
    """A value whose JSON says its version."""

    @property
    def schema_version(self) -> int:
        """The version that it was written under."""


Value = TypeVar("Value", bound=Versioned)


def encode(value: object) -> bytes:
    """Sorted keys, money as decimal strings, UTC times, one line feed at the end."""
    return msgspec.json.encode(value, order="sorted") + b"\n"


def decode(content: bytes, name: str, kind: type[Value], version: int, again: str) -> Value:
    """Read a value back; `again` says how to make the file anew. Raises NothingToReadError naming file and field."""
    try:
        value = msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise NothingToReadError(f"{name}: not {_a(kind)} of hitledger: {error}") from error
    if value.schema_version != version:
        raise NothingToReadError(
            f"{name}: schema_version {value.schema_version}, this hitledger reads {version}; {again}"
        )
    return value


def _a(kind: type) -> str:
    name = kind.__name__.lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def content_of(path: str) -> bytes:
    """The bytes of a result file. Raises NothingToReadError where it is too large or cannot be read."""
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise NothingToReadError(f"{path}: larger than {MAX_BYTES // 2**30} GiB")
        return file.read_bytes()
    except OSError as error:
        raise NothingToReadError(f"{path}: cannot be read: {error.strerror}") from error
