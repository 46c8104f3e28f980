"""What a request looks like before and after the fix of its cause."""

import tomllib
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

import msgspec


class Fix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two sketches of code."""

    before: str
    after: str


@lru_cache(maxsize=1)
def fixes() -> MappingProxyType[str, Fix]:
    """All sketches by cause."""
    text = (resources.files("hitledger_reports.view") / "fixes.toml").read_text("utf-8")
    return MappingProxyType(msgspec.convert(tomllib.loads(text), dict[str, Fix]))
