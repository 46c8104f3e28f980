"""Which readers there are. A reader is named here and imported only when a file is looked at."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

from msgspec import Struct

from hitledger.errors import UsageError
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.types import Call

# Names of modules in this package, one a format. The order is the order of reading, not of preference:
# a file that two readers claim is an error (see `detect`).
MODULES: tuple[str, ...] = (
    "claude_code",
    "codex",
    "bodies",
    "scenario",
    "sharegpt",
    "lmcache",
    "bedrock",
    "openai_batch",
    "lhar",
    "har",
    "vcr",
    "raw_api_bodies",
    "claude_trace",
    "langfuse",
    "langsmith",
    "otel",
    "openinference",
    "vercel_ai_sdk",
    "mlflow",
    "litellm",
    "helicone",
    "tracelab",
    "mooncake",
    "bailian",
    "kv_cache_tester",
    "pi",
    "gemini_cli",
    "copilot_cli",
    "opencode",
    "goose",
    "cline",
    "cline_sdk",
    "nock",
    "aider",
    "openhands_completions",
    "openhands_trajectory",
    "openhands_events",
    "swe_agent",
    "mini_swe_agent",
    "atif",
    "inspect_ai",
    "kimi",
    "qwen_code",
    "refused",
)


# Those whose rows look like no other format's. A file that one of them claims is not shown to the rest, so that a large
# tree of transcripts pays neither for importing forty readers nor for asking them.
DISTINCT: tuple[str, ...] = ("claude_code", "codex")


class Reader(Struct, frozen=True):
    """One format: the three things that its module defines (see the docstring of this package)."""

    format: str
    sniff: Callable[[LogFile], bool]
    read: Callable[[tuple[LogFile, ...], Ingest], Iterator[Call]]


def readers() -> tuple[Reader, ...]:
    """All readers, imported on first use."""
    return tuple(_reader(name) for name in MODULES)


def distinct_readers() -> tuple[Reader, ...]:
    """The readers that are asked first."""
    return tuple(_reader(name) for name in DISTINCT)


@cache
def _reader(name: str) -> Reader:
    module = import_module(f"hitledger.logs.{name}")
    return Reader(module.FORMAT, module.sniff, module.read)


def reader_of(format_name: str) -> Reader:
    """The reader that `--format` names. Raises UsageError with the names there are."""
    for reader in readers():
        if reader.format == format_name:
            return reader
    names = ", ".join(sorted(reader.format for reader in readers()))
    raise UsageError(f"no log format is called {format_name!r}; there are: {names}")
