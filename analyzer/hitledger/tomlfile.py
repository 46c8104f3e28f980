"""TOML that a user wrote, read within bounds: whatever is wrong with it is a ValueError whose text says what."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_LINE = 4_000  # characters
MAX_DOTS = 100  # of one key: it takes time that grows with their square
NO_KEY = re.compile(r"[^\w\s.\"'-]+")  # what separates keys


def text_of(path: Path, limit: int) -> str:
    """A file's text. Raises ValueError for one that cannot be read, has more than `limit` bytes or is not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"larger than {limit:,} bytes")
        return data.decode()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 from byte {error.start + 1} on") from error


def tables_of(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The tables of a TOML text. Raises ValueError, with the line where the parser knows it."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_LINE:
            raise ValueError(f"line {number} is longer than {MAX_LINE:,} characters: break it")
        if line.count(".") > MAX_DOTS and any(part.count(".") > MAX_DOTS for part in NO_KEY.split(line)):
            raise ValueError(f"line {number} has a key of more than {MAX_DOTS} parts")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError as error:
        raise ValueError("not TOML: nested too deeply") from error
    except ValueError as error:  # also a whole number of thousands of digits
        raise ValueError(f"not TOML: {error}") from error


def is_schema(value: Any, number: int) -> bool:
    """Whether a file's `schema` is this number: 1, and neither `true` nor 1.0."""
    return type(value) is int and value == number
