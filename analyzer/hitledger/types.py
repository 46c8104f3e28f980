"""The values that cross module borders: frozen and typed.

Those that come by the hundred thousand are structs: a frozen dataclass takes ten times as long to build.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

import msgspec
from msgspec.structs import force_setattr

from hitledger.lifetimes import seconds_of


class Evidence(StrEnum):
    """How much of the prompt the log holds."""

    EXACT = "exact"  # the full prompt as sent
    RECONSTRUCTED = "reconstructed"  # the messages only; the hidden part is inferred from usage
    USAGE_ONLY = "usage-only"  # no text at all


class Certainty(StrEnum):
    """What kind of number a number is."""

    EXACT = "exact"  # logged, or computed from logged figures alone
    CALIBRATED = "calibrated"  # counted with a public tokenizer, scaled to the logged totals
    ESTIMATED = "estimated"  # counted or inferred with nothing logged to scale it to


class Kind(StrEnum):
    """What a segment is. Which of the three tiers it belongs to is `tier`."""

    TOOL = "tool"
    SCHEMA = "schema"  # an output schema the provider puts into the prompt
    SYSTEM = "system"
    TEXT = "text"
    THINKING = "thinking"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    IMAGE = "image"
    DOCUMENT = "document"
    TOKENS = "tokens"  # token ids as sent to an engine
    HIDDEN = "hidden"  # a part of the prompt that the log does not hold; its length is inferred


class Tier(StrEnum):
    """The parts of a prompt that providers invalidate separately, in their usual order."""

    TOOLS = "tools"
    SYSTEM = "system"
    MESSAGES = "messages"


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A span of the prompt with one origin: a tool, a system block, a content block.

    `text` is what the provider tokenizes: the text itself, or for a structured block its JSON as sent (key order
    kept), without cache marks. It is None where the reader keeps only the digest (transcripts), and `chars` is then
    the length it had. Two segments with equal `digest` are the same content in the same role.
    """

    kind: Kind
    tier: Tier
    path: str  # JSON path in the request body, or `[row].…` in a transcript, rows from 0
    role: str  # system, user, assistant, tool, developer; "" for tools
    digest: bytes  # 16 bytes over role, kind and content
    chars: int
    text: str | None = None
    mark: str | None = None  # lifetime of the cache mark on it ("5m", "1h", "30m", …); None: not marked
    opens_message: bool = False  # first block of its message
    name: str = ""  # tool name, or id of the tool call a result answers


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """Segments in the order the provider lays them out. A transcript's prompt shares the prompt that it extends."""

    own: tuple[Segment, ...]
    base: "Prompt | None" = None
    length: int = 0  # number of segments, base included

    def __len__(self) -> int:
        return self.length

    def segments(self) -> tuple[Segment, ...]:
        """All segments, first to last."""
        parts: list[tuple[Segment, ...]] = []
        node: Prompt | None = self
        while node is not None:
            parts.append(node.own)
            node = node.base
        return tuple(segment for part in reversed(parts) for segment in part)

    def pieces(self) -> Iterator[Segment]:
        """The own segments one by one, for who may not need them all."""
        yield from self.own

    def thinking(self) -> int:
        """How many of the own segments are thinking."""
        return sum(segment.kind is Kind.THINKING for segment in self.own)

    def last_message(self) -> tuple[int, bool]:
        """How many of the own segments belong to the last message, and whether its first is among them."""
        for count, segment in enumerate(reversed(self.own), 1):
            if segment.opens_message:
                return count, True
        return len(self.own), False

    def extend(self, own: tuple[Segment, ...]) -> "Prompt":
        """This prompt with more segments behind it."""
        return Prompt(own, self, self.length + len(own))

    def lineage(self) -> Iterator["Prompt"]:
        """This prompt, the one it extends, and so on to the first."""
        node: Prompt | None = self
        while node is not None:
            yield node
            node = node.base


def prompt_of(segments: tuple[Segment, ...]) -> Prompt:
    """A prompt that extends no other."""
    return Prompt(segments, None, len(segments))


class CacheWrite(msgspec.Struct, frozen=True, gc=False):
    """Tokens written with one lifetime. `ttl` is the provider's name for it ("5m"), "" where it was not said."""

    ttl: str
    tokens: int


def _shortest(writes: tuple[CacheWrite, ...]) -> str | None:
    if len(writes) == 1:
        return writes[0].ttl or None
    return min((write.ttl for write in writes if write.tokens and write.ttl), key=seconds_of, default=None)


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Reported tokens in disjoint classes, whatever the provider's own convention. None: not reported, never zero."""

    uncached_input_tokens: int
    cache_read_tokens: int | None
    cache_writes: tuple[CacheWrite, ...] | None
    output_tokens: int | None
    output_estimated: bool = False  # the log held a placeholder; the count was estimated from the content
    read_accumulated: bool = False  # server tools ran: reads add up over hidden calls, so they are no prompt property
    # What follows from the above, found once: every stage of an audit asks for it.
    cache_write_tokens: int | None = None  # all written tokens, whatever their lifetime
    input_tokens: int = 0  # the whole prompt: uncached + read + written
    lifetime: str | None = None  # the shortest that was written; None where nothing was, or it was not said

    def __post_init__(self) -> None:
        writes = self.cache_writes
        written: int | None = None
        if writes is not None:
            written = writes[0].tokens if len(writes) == 1 else sum([write.tokens for write in writes])
        force_setattr(self, "lifetime", _shortest(writes) if written and writes else None)
        force_setattr(self, "cache_write_tokens", written)
        force_setattr(self, "input_tokens", self.uncached_input_tokens + (self.cache_read_tokens or 0) + (written or 0))


class Parameter(msgspec.Struct, frozen=True):
    """One field outside the prompt that can decide what is cached. `value` is canonical JSON (sorted keys)."""

    name: str  # thinking, effort, tool_choice, response_format, …; account, host, upstream, prompt_cache_key, …
    path: str  # where it stands: in the body, or `response_headers.…`
    value: str


class EngineHint(msgspec.Struct, frozen=True):
    """What a log says of the engine that served it; scenario files and engine logs carry one."""

    kind: str  # local or provider
    block_tokens: int
    render_order: tuple[str, ...] = ()
    caches_generated_tokens: bool = False
    chat_template: str | None = None
    special_tokens: tuple[str, ...] = ()
    tokenizer: str = "o200k_base"


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a call stands in the input."""

    file: str  # as given, relative where the input was
    row: int  # from 1


class Call(msgspec.Struct, frozen=True, gc=False):
    """One request and its response, as one log has it."""

    id: str
    session: str
    agent: str  # "main", or the sub-agent's id
    place: Place
    provider: str  # anthropic, openai, deepseek, … ; "" unknown
    model: str  # as requested; "" unknown
    evidence: Evidence
    prompt: Prompt
    api: str = ""  # messages, chat, responses, converse, generate-content, …
    started_at: datetime | None = None  # UTC
    first_token_at: datetime | None = None
    ended_at: datetime | None = None
    status: int = 200
    served_model: str = ""
    usage: Usage | None = None
    parameters: tuple[Parameter, ...] = ()  # from the body, sorted by name
    route: tuple[Parameter, ...] = ()  # account, host, upstream, prompt_cache_key: who answers; sorted by name
    logged_cost: Decimal | None = None  # USD
    provider_reason: str | None = None  # the provider's own diagnosis of a miss
    engine: EngineHint | None = None
    generated_text: str | None = None
    generated_ids: tuple[int, ...] = ()
    prompt_ids: tuple[int, ...] = ()  # exact token ids where the log has them
    events: tuple[str, ...] = ()  # what the log says happened just before: compaction, resume, user_turn, rewind
    purpose: str = ""  # what a side call is for, where the log says so: title, compaction, …
    parent_agent: str = ""  # the agent that started this one
    project: str = ""  # working folder or project name, where the log says so
    tier: str = ""  # service tier, speed, batch or geo that the response says was served: "fast", "batch", "us", …
    notes: tuple[str, ...] = ()  # flags a reader wants shown: output_estimated, duplicate_usage, …

    @property
    def input_tokens(self) -> int | None:
        """Reported prompt length, None where nothing was reported."""
        return None if self.usage is None else self.usage.input_tokens
