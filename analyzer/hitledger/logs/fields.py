"""Typed access to the values of untrusted JSON: what has the wrong type counts as missing, and nothing raises."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

MAX_COST = Decimal(10**6)  # no single call costs a million dollars


def mapping(value: Any) -> Mapping[str, Any]:
    """The object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The string, "" for anything else."""
    return value if isinstance(value, str) else ""


def first_text(*values: Any) -> str:
    """The first value that is a string with something in it, "" where none is."""
    return next((value for value in values if isinstance(value, str) and value), "")


def count(value: Any) -> int | None:
    """A whole number that is not negative, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**15:
        return None
    return int(value) if value == int(value) else None


def dollars(value: Any) -> Decimal | None:
    """An amount of money as the log has it, None for anything else (also for negative ones)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount < MAX_COST else None


def parsed(value: Any) -> Any:
    """The JSON value in a string, None where it holds none."""
    if not isinstance(value, str):
        return None
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
