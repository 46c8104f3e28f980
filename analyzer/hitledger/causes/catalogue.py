"""The text of every cause: what it is, how it is recognised, how it is mended."""

import tomllib
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import msgspec

from hitledger.errors import UsageError


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `catalogue.toml`."""

    code: str
    what: str
    seen: str
    fix: str
    detected: str  # log | engine | named


@lru_cache(maxsize=1)
def catalogue() -> MappingProxyType[str, Cause]:
    """All causes by code, in the order of the file."""
    text = Path(__file__).with_name("catalogue.toml").read_text("utf-8")
    rows = msgspec.convert(tomllib.loads(text)["cause"], list[Cause])
    return MappingProxyType({row.code: row for row in rows})


def cause(code: str) -> Cause:
    """One entry. Raises UsageError that names the codes like it."""
    found = catalogue().get(code)
    if found is not None:
        return found
    alike = [known for known in catalogue() if code.split(".")[0] in known]
    hint = f"; did you mean {', '.join(alike[:6])}?" if alike else "; `hitledger explain` lists them all"
    raise UsageError(f"no cause is called {code}{hint}")


def fix_of(code: str) -> str:
    """The sentence that says how to mend it; "" for a code without an entry."""
    found = catalogue().get(code)
    return found.fix if found is not None else ""
