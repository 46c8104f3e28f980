"""Other versions of the same calls: pure functions from calls to calls."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec.structs import replace

from hitledger.errors import UsageError
from hitledger.expect import lifetime_of
from hitledger.providers import provider_of
from hitledger.types import CacheWrite, Call, Evidence, Kind, Prompt, Segment, Tier, Usage, prompt_of


class MarkAt(StrEnum):
    """Where a mark can be put."""

    TOOLS = "tools"  # behind the last tool
    SYSTEM = "system"  # behind the system prompt
    LAST = "last"  # behind the last message
    BEFORE_LAST = "before-last"  # behind the message before it


def without_split(calls: Sequence[Call]) -> list[Call]:
    """Logged lengths kept, logged reads taken out: what a cache did then is no part of a simulation.

    What was read and written becomes one write, so that the end of the last mark stays where the log has it; its
    lifetime is the one written last by the same agent.
    """
    lifetimes: dict[tuple[str, str], str] = {}
    found: list[Call] = []
    for call in calls:
        who = (call.session, call.agent)
        ttl = lifetime_of(call) or lifetimes.get(who, "")
        lifetimes[who] = ttl
        found.append(replace(call, usage=_one_write(call.usage, ttl), logged_cost=None))
    return found


def _one_write(usage: Usage | None, ttl: str) -> Usage | None:
    if usage is None:
        return None
    if usage.cache_writes is None:  # nothing is said of writes: an automatic cache
        return Usage(usage.input_tokens, 0, None, usage.output_tokens, usage.output_estimated)
    marked = usage.input_tokens - usage.uncached_input_tokens
    writes = (CacheWrite(ttl, marked),) if marked else ()
    return Usage(usage.uncached_input_tokens, 0, writes, usage.output_tokens, usage.output_estimated)


def with_lifetime(calls: Sequence[Call], ttl: str) -> list[Call]:
    """Every mark and every write with this lifetime."""

    def changed(segment: Segment) -> Segment:
        return segment if segment.mark in (None, ttl) else replace(segment, mark=ttl)

    found: list[Call] = []
    for call in calls:
        usage = call.usage
        if usage is not None and usage.cache_writes:
            usage = replace(usage, cache_writes=tuple(CacheWrite(ttl, write.tokens) for write in usage.cache_writes))
        prompt = call.prompt
        if call.evidence is Evidence.EXACT:
            prompt = prompt_of(tuple(changed(segment) for segment in prompt.segments()))
        found.append(replace(call, usage=usage, prompt=prompt))
    return found


def with_marks(calls: Sequence[Call], places: Sequence[MarkAt], ttl: str) -> list[Call]:
    """Full prompts with marks at these places and nowhere else. Raises UsageError for prompts that are not logged whole."""
    if any(call.evidence is not Evidence.EXACT for call in calls):
        raise UsageError("--marks needs logs that hold the whole request: a transcript shows no marks")
    return [replace(call, prompt=_marked(call.prompt, places, ttl), usage=_unsplit(call.usage)) for call in calls]


def _unsplit(usage: Usage | None) -> Usage | None:
    """With the marks moved, the log no longer says where the last one ends: only the whole length stays."""
    return None if usage is None else Usage(usage.input_tokens, 0, None, usage.output_tokens, usage.output_estimated)


def _marked(prompt: Prompt, places: Sequence[MarkAt], ttl: str) -> Prompt:
    segments = prompt.segments()
    ends = {end for place in places if (end := _end(segments, place)) is not None}
    return prompt_of(
        tuple(
            replace(segment, mark=ttl if index in ends else None)
            if (segment.mark is not None) or index in ends
            else segment
            for index, segment in enumerate(segments)
        )
    )


def _end(segments: tuple[Segment, ...], place: MarkAt) -> int | None:
    """Index of the block that carries the mark; a block that cannot carry one is passed over."""
    last = len(segments)
    if place in (MarkAt.TOOLS, MarkAt.SYSTEM):
        tier = Tier.TOOLS if place is MarkAt.TOOLS else Tier.SYSTEM
        return max((i for i, segment in enumerate(segments) if segment.tier is tier), default=None)
    if place is MarkAt.BEFORE_LAST:
        opens = [i for i, s in enumerate(segments) if s.opens_message and s.tier is Tier.MESSAGES]
        if len(opens) < 2:
            return None
        last = opens[-1]
    can = (i for i in range(last - 1, -1, -1) if segments[i].kind is not Kind.THINKING and segments[i].chars)
    return next(can, None)


def with_model(calls: Sequence[Call], model: str, provider: str = "") -> list[Call]:
    """The same prompts to another model, as long as they are now. Raises UsageError where nobody is known to serve it."""
    served_by = provider or provider_of(model)
    if not served_by:
        raise UsageError(f"--model {model}: say who serves it with --provider")
    return [replace(call, model=model, served_model="", provider=served_by, tier="", route=()) for call in calls]


def with_provider(calls: Sequence[Call], provider: str) -> list[Call]:
    """The same models served by another provider or engine."""
    return [replace(call, provider=provider, tier="", route=()) for call in calls]
