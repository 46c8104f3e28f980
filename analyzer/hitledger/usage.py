"""Any provider's usage object as four disjoint token classes: uncached input, cache reads, cache writes, output.

Two conventions exist. *Inclusive* (OpenAI, Gemini, DeepSeek): the input figure holds the cached and written tokens.
*Exclusive* (Anthropic, Bedrock): it holds only what was neither read nor written. The field names decide where they
can, then the logged total, then arithmetic: an input figure smaller than its parts cannot hold them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.types import CacheWrite, Usage
from hitledger.usage_fields import Convention, Name, Part, is_container, name_of

MAX_TOKENS = 10**12  # a larger figure is no token count
MAX_NAME = 100  # characters of a field name; a longer one is no name of a provider's
MAX_DEPTH = 3  # details of details, as deep as any provider nests them
SERVED_KEYS = ("service_tier", "speed", "inference_geo")
STANDARD_TIERS = frozenset({"", "default", "standard", "auto", "global", "none", "not_available", "null", "on_demand"})

PARTS_EXCEED = "cache_parts_exceed_input"
_MESSAGES_KEYS = frozenset(
    [
        *("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "output_tokens"),
        *("server_tool_use", "iterations", *SERVED_KEYS),
    ]
)
_LIFETIMES = {"ephemeral_5m_input_tokens": "5m", "ephemeral_1h_input_tokens": "1h"}


def read_usage(raw: Mapping[str, Any], *, inclusive: bool | None = None) -> tuple[Usage | None, tuple[str, ...]]:
    """Disjoint token classes of one response, and notes on everything that had to be decided or mended.

    `inclusive` says whether the input figure holds the cached part, where the writer of the log is known and its field
    names do not say. Usage is None where no prompt figure is reported; a class that is not reported is None, never 0.
    """
    plain = _messages_usage(raw)
    if plain is not None:
        return plain, ()
    figures = _Figures()
    figures.collect(raw)
    if not figures.has_prompt:
        notes = ("input_not_reported",) if figures.output is not None else ()
        return None, notes + tuple(figures.notes)
    writes = figures.writes()
    read = figures.clamped(Part.READ)
    written = 0 if writes is None else sum(write.tokens for write in writes)
    uncached = figures.uncached(read or 0, written, inclusive)
    if PARTS_EXCEED in figures.notes and writes:
        writes = _at_most(writes, max(0, figures.values[Part.INPUT] - (read or 0)))
    usage = Usage(
        uncached_input_tokens=uncached + (figures.clamped(Part.TOOL_INPUT) or 0),
        cache_read_tokens=read,
        cache_writes=writes,
        output_tokens=figures.output,
        read_accumulated=figures.accumulated,
    )
    return usage, tuple(figures.notes)


def _at_most(writes: tuple[CacheWrite, ...], tokens: int) -> tuple[CacheWrite, ...]:
    """Writes cut to a sum: a token cannot be read and written in one prompt (OpenRouter says so of Gemini's)."""
    kept: list[CacheWrite] = []
    for write in writes:
        taken = min(tokens, write.tokens)
        tokens -= taken
        if taken:
            kept.append(CacheWrite(write.ttl, taken))
    return tuple(kept)


def nothing_counted(usage: Usage | None) -> bool:
    """Whether there is no figure but zeros, which some agents write before they know better."""
    return usage is None or (usage.input_tokens == 0 and not usage.output_tokens)


def served_tier(usage: Mapping[str, Any], response: Mapping[str, Any] | None = None) -> str:
    """What was served beside the standard, joined by "+" in the order tier, speed, geo: "priority", "fast+us", "".

    Both the usage object (Anthropic) and the response (OpenAI) can say so; what was served beats what was asked for.
    """
    found = []
    for key in SERVED_KEYS:
        for source in (usage, response or {}):
            value = source.get(key)
            if isinstance(value, str) and value.lower() not in STANDARD_TIERS:
                found.append(value.lower())
                break
    return "+".join(found)


def _messages_usage(raw: Mapping[str, Any]) -> Usage | None:
    """The Messages API's own shape where nothing needs deciding, None for all others: most rows of large inputs."""
    if not raw.keys() <= _MESSAGES_KEYS:
        return None
    uncached, read = raw.get("input_tokens"), raw.get("cache_read_input_tokens")
    written, output = raw.get("cache_creation_input_tokens"), raw.get("output_tokens")
    if not (type(uncached) is type(read) is type(written) is type(output) is int):
        return None
    if uncached < 0 or read < 0 or written < 0 or output < 0 or uncached + read + written + output > MAX_TOKENS:
        return None
    if not is_one_round(raw.get("iterations")) or ("server_tool_use" in raw and _server_tools_ran(raw)):
        return None
    split = raw.get("cache_creation") or {}
    if type(split) is not dict:
        return None
    parts = [item for item in split.items() if item[1]]
    if not written and not parts:
        return Usage(uncached, read, (), output)
    ttl = _LIFETIMES.get(parts[0][0]) if len(parts) == 1 and parts[0][1] == written else None
    return Usage(uncached, read, (CacheWrite(ttl, written),), output) if ttl is not None else None


def is_one_round(rounds: object) -> bool:
    """Whether a call ran only once by its `iterations`: then they repeat its figures, else some are added up or left out."""
    return not rounds or (type(rounds) is list and len(rounds) == 1 and _iteration(rounds[0]) == "message")


class _Figures:
    """The figures of one usage object, by what they count."""

    __slots__ = ("accumulated", "conventions", "notes", "split", "values")

    def __init__(self) -> None:
        self.values: dict[Part, int] = {}
        self.split: dict[str, int] = {}
        self.conventions: set[Convention] = set()
        self.notes: list[str] = []
        self.accumulated = False

    def collect(self, raw: Mapping[str, Any]) -> None:
        """Take in every figure of the object."""
        for path, figure in _flat(raw, "", 0):
            value, name = _number(figure), name_of(path)
            if value is None:
                if name.part is not Part.KNOWN:  # a cost among the figures is no token count
                    self.note(f"unreadable_usage:{path[:60]}")
                continue
            if name.part is Part.WRITE_SPLIT:
                self.split[name.ttl] = max(self.split.get(name.ttl, 0), value)
            elif name.part is Part.UNKNOWN:
                if value > 0:
                    self.note(f"unknown_usage_field:{path[:60]}")
            elif name.part is not Part.KNOWN:
                self.add(name, value)
        for ttl, tokens in _bedrock_details(raw.get("cacheDetails")):
            self.split[ttl] = self.split.get(ttl, 0) + tokens
        self.accumulated = _server_tools_ran(raw)
        if _compacted(raw):
            self.note("compaction_not_in_usage")

    def add(self, name: Name, value: int) -> None:
        """One figure; where two names give the same one, the larger."""
        before = self.values.get(name.part)
        if before and value and before != value and name.part in (Part.READ, Part.WRITE):
            self.note(f"conflicting_{name.part.name.lower()}_figures")
        self.values[name.part] = value if before is None else max(before, value)
        if value and name.convention is not Convention.UNSAID:
            self.conventions.add(name.convention)

    def note(self, text: str) -> None:
        """Notes come once each, in the order found."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def has_prompt(self) -> bool:
        """Whether anything of the prompt is counted."""
        return bool(self.split) or not self.values.keys().isdisjoint((Part.INPUT, Part.MISS, Part.READ, Part.WRITE))

    def clamped(self, part: Part) -> int | None:
        """A figure, never negative."""
        value = self.values.get(part)
        if value is not None and value < 0:
            self.note(f"negative_{part.name.lower()}")
            return 0
        return value

    def writes(self) -> tuple[CacheWrite, ...] | None:
        """Writes by lifetime, shortest name first; what the split leaves out keeps the lifetime ""."""
        total = self.clamped(Part.WRITE)
        if total is None and not self.split:
            return None
        parts = {ttl: tokens for ttl, tokens in sorted(self.split.items()) if tokens > 0}
        rest = (total or 0) - sum(parts.values())
        if rest > 0:
            if parts:
                self.note("write_split_incomplete")
            parts[""] = rest
        elif rest < 0 and total is not None:
            self.note("write_split_exceeds_total")
        return tuple(CacheWrite(ttl, tokens) for ttl, tokens in parts.items())

    def uncached(self, read: int, written: int, inclusive: bool | None) -> int:
        """Input that was neither read nor written."""
        value = self.values.get(Part.INPUT)
        if value is None:
            miss = self.clamped(Part.MISS)
            if miss is not None:
                return max(0, miss - written)
            self.note("input_not_reported")
            return 0
        if value < 0:  # a provider's net figure: input less what was read
            self.note("negative_input")
            return max(0, value + read)
        if not self._inclusive(value, read + written, inclusive):
            return value
        if value < read + written:
            self.note("cache_read_exceeds_input" if value < read else PARTS_EXCEED)
        return max(0, value - read - written)

    def _inclusive(self, value: int, parts: int, asked: bool | None) -> bool:
        if not parts:
            return False
        if asked is not None:
            return asked
        by_total = self._by_total(value, parts)
        if Convention.INCLUSIVE in self.conventions:
            if value < parts and by_total is False:
                self.note("input_excludes_cache")
                return False
            return True
        if Convention.EXCLUSIVE in self.conventions:
            return False
        return by_total if by_total is not None else value >= parts

    def _by_total(self, value: int, parts: int) -> bool | None:
        """What the logged total proves, None where it proves nothing."""
        total = self.values.get(Part.TOTAL)
        if total is None or self.output is None:
            return None
        beside = total - self.output - self.values.get(Part.TOOL_INPUT, 0)
        return True if beside == value else False if beside == value + parts else None

    @property
    def output(self) -> int | None:
        """Generated tokens with the reasoning in them."""
        output = self.clamped(Part.OUTPUT)
        thoughts = self.values.get(Part.THOUGHTS, 0)
        if output is None:
            return thoughts or None
        reasoning, total = self.values.get(Part.REASONING, 0), self.values.get(Part.TOTAL)
        if thoughts <= 0 < reasoning and total == self.values.get(Part.INPUT, 0) + output + reasoning:
            return output + reasoning  # the logged total proves that it is counted beside the output
        return output + max(0, thoughts)


def _flat(raw: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, int | float | str]]:
    for key, value in raw.items():
        if len(key) > MAX_NAME:
            continue
        if isinstance(value, Mapping):
            if depth < MAX_DEPTH and is_container(key):
                yield from _flat(value, f"{prefix}{key}.", depth + 1)
        elif type(value) in (int, float) or (isinstance(value, str) and value.isdecimal()):
            yield prefix + key, value


def _number(value: float | str) -> int | None:
    """A token count, written as int, float or digits (OTLP); None where it can be none."""
    if isinstance(value, str):
        return int(value) if len(value) < len(str(MAX_TOKENS)) else None
    return int(value) if -MAX_TOKENS < value < MAX_TOKENS and value == int(value) else None


def _bedrock_details(details: object) -> Iterator[tuple[str, int]]:
    """Converse's `cacheDetails`: [{ttl, inputTokens}]."""
    for row in details if isinstance(details, list) else ():
        if isinstance(row, Mapping) and isinstance(row.get("ttl"), str) and type(row.get("inputTokens")) is int:
            yield row["ttl"], row["inputTokens"]


def _server_tools_ran(raw: Mapping[str, Any]) -> bool:
    """Reads add up over the hidden calls of server tools (Anthropic)."""
    tools = raw.get("server_tool_use")
    if isinstance(tools, Mapping) and any(type(count) is int and count > 0 for count in tools.values()):
        return True
    rounds = raw.get("iterations")
    return isinstance(rounds, list) and sum(_iteration(row) == "message" for row in rounds) > 1


def _compacted(raw: Mapping[str, Any]) -> bool:
    """The top-level figures leave out the compaction that ran inside the call (Anthropic)."""
    rounds = raw.get("iterations")
    return isinstance(rounds, list) and any(_iteration(row) == "compaction" for row in rounds)


def _iteration(row: object) -> object:
    return row.get("type") if isinstance(row, Mapping) else None
