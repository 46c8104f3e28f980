"""Which earlier call a call continues: the predecessor of the first of the two steps.

The second step, which earlier call left the longest readable prefix under the same key, is the simulation's
(`expect.py`), since it depends on the provider's rules.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
import orjson

from hitledger.continuation import goes_on, head_of, messages_of, repeats_history, same_head
from hitledger.layouts.blocks import json_value
from hitledger.segments import digest_of
from hitledger.time_order import in_sequence
from hitledger.types import Call, Evidence, Kind, Prompt, Segment

CANDIDATES = 64  # how far back a call that extends none of the latest ones is searched for
ID_KEYS = frozenset({"id", "tool_use_id", "tool_call_id", "call_id", "toolUseId"})


class Link(msgspec.Struct, frozen=True, gc=False):
    """A call's place in its session."""

    call: Call
    index: int  # in the input, from 0
    index_in_session: int
    predecessor: int | None  # index of the call that this one continues; None: a cold start
    side: bool = False  # a side request: it continues none, and none continues it


@dataclass(slots=True)
class _Agent:
    """What one agent of one session has sent so far."""

    calls: list[int] = field(default_factory=list)
    prompts: dict[Prompt, int] = field(default_factory=dict)  # transcripts: whose prompt it is
    bags: dict[int, Counter[bytes]] = field(default_factory=dict)
    heads: dict[int, frozenset[bytes]] = field(default_factory=dict)
    summarised: bool = False  # its latest call was a side request over the whole history


class Chains:
    """Links calls, each given behind those that it can continue, to their predecessors."""

    def __init__(self) -> None:
        self._agents: dict[tuple[str, str], _Agent] = {}
        self._in_session: Counter[str] = Counter()
        self._calls: dict[int, Call] = {}

    def link(self, call: Call, index: int | None = None) -> Link:
        """Place one call. Refused calls (no usage, status 4xx/5xx) are nobody's predecessor.

        `index` is its place in the input; None: the one behind the last.
        """
        index = len(self._calls) if index is None else index
        self._calls[index] = call
        number = self._in_session[call.session]
        self._in_session[call.session] += 1
        agent = self._agents.get((call.session, call.agent))
        if agent is None:
            agent = self._agents[call.session, call.agent] = _Agent()
        predecessor, side = self._predecessor(call, agent)
        if call.status < 400:
            agent.calls.append(index)
            agent.summarised = side and predecessor is not None
            if call.prompt.base is not None:
                agent.prompts[call.prompt] = index
        return Link(call, index, number, predecessor, side)

    def _predecessor(self, call: Call, agent: _Agent) -> tuple[int | None, bool]:
        if not agent.calls:
            return None, False
        latest = agent.calls[-1]
        if call.prompt.base is not None:
            return self._extended(call, agent, latest), False
        if call.evidence is Evidence.USAGE_ONLY:
            return latest, False
        head = head_of(call)
        if extends(self._calls[latest], call) and self._head(latest, agent) == head:
            return latest, False
        best = self._best_overlap(call, agent, head)
        if best is not None:
            return (None if self._is_aside(call, best, agent, head) else best), False
        if call.evidence is not Evidence.EXACT or not len(call.prompt):
            return latest, False
        return self._with_nothing_shared(call, agent, head)

    def _with_nothing_shared(self, call: Call, agent: _Agent, head: frozenset[bytes]) -> tuple[int | None, bool]:
        """Under the same tools and system: a compacted history, or another conversation. Else a side request."""
        known = next((i for i in self._recent(agent) if same_head(self._head(i, agent), head)), None)
        if known is not None:
            return (known, False) if agent.summarised or goes_on(self._calls[known], call) else (None, False)
        over_history = call.purpose == "compaction" or repeats_history(
            call, (self._calls[i] for i in self._recent(agent))
        )
        return (agent.calls[-1], True) if over_history else (None, True)

    def _is_aside(self, call: Call, best: int, agent: _Agent, head: frozenset[bytes]) -> bool:
        """A request under other tools and system that adds nothing to the conversation: a title, a topic check."""
        if call.evidence is not Evidence.EXACT or self._head(best, agent) & head:
            return False
        return not head >= self._head(best, agent) and len(messages_of(call)) <= len(messages_of(self._calls[best]))

    def _head(self, index: int, agent: _Agent) -> frozenset[bytes]:
        found = agent.heads.get(index)
        if found is None:
            found = agent.heads[index] = head_of(self._calls[index])
        return found

    def _extended(self, call: Call, agent: _Agent, latest: int) -> int:
        """A transcript's prompt holds the one that it extends; one that was begun anew follows the latest call."""
        prompts, node = agent.prompts, call.prompt.base  # nearly always that of the latest call
        found = prompts.get(call.prompt)
        while found is None and node is not None:
            found, node = prompts.get(node), node.base
        return latest if found is None else found

    def _best_overlap(self, call: Call, agent: _Agent, head: frozenset[bytes]) -> int | None:
        """The call most of whose messages are in this one: shared minus missing.

        On a tie one under the same tools and system comes first, then a shorter call before one as long as this one
        (a side question), then the one sharing more.
        """
        own = message_bag(call)
        length = own.total()
        best: tuple[int, bool, bool, int] | None = None
        found = None
        for index in self._recent(agent):  # latest first: on a tie that one
            bag = agent.bags.get(index)
            if bag is None:
                bag = agent.bags[index] = message_bag(self._calls[index])
            shared = (bag & own).total()
            total = bag.total()
            rank = (2 * shared - total, self._head(index, agent) == head, total < length, shared)
            if shared and (best is None or rank > best):
                best, found = rank, index
        return found

    def _recent(self, agent: _Agent) -> Iterator[int]:
        return iter(agent.calls[: -CANDIDATES - 1 : -1])


def linked(calls: Sequence[Call], over: Callable[[Iterable[int]], Iterable[int]] = iter) -> list[Link]:
    """A link for each call, in input order. `over` is told of each, for who watches."""
    chains = Chains()
    found = {index: chains.link(calls[index], index) for index in over(in_sequence(calls))}
    return [found[index] for index in range(len(calls))]


def gap_seconds(link: Link, calls: Sequence[Call]) -> float | None:
    """From the start of a call's predecessor to its own; `calls` are all of the run."""
    started = link.call.started_at
    if link.predecessor is None or started is None:
        return None
    before = calls[link.predecessor].started_at
    return None if before is None else (started - before).total_seconds()


def extends(earlier: Call, later: Call) -> bool:
    """Whether all messages of the earlier call stand, in order, at the head of the later one's."""
    old, new = messages_of(earlier), messages_of(later)
    return bool(old) and len(old) < len(new) and all(a.digest == b.digest for a, b in zip(old, new, strict=False))


def message_bag(call: Call) -> Counter[bytes]:
    """The messages as a multiset that does not see ids, key order or surrounding white space."""
    return Counter(loose_digest(segment) for segment in messages_of(call))


@lru_cache(maxsize=65536)
def loose_digest(segment: Segment) -> bytes:
    """A digest equal for segments that say the same: ids dropped, JSON with sorted keys, text stripped."""
    if segment.text is None:
        return segment.digest
    if segment.kind in (Kind.TOOL_USE, Kind.TOOL_RESULT) and segment.text.startswith("{"):
        text = orjson.dumps(without_ids(json_value(segment.text)), option=orjson.OPT_SORT_KEYS).decode()
        return digest_of(segment.kind, segment.role, text)
    return digest_of(segment.kind, segment.role, segment.text.strip())


def without_ids(value: object) -> object:
    """The same JSON value without call ids; a string that is JSON itself (tool arguments) is opened."""
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items() if key not in ID_KEYS}
    if isinstance(value, list):
        return [without_ids(item) for item in value]
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return without_ids(orjson.loads(value))
        except orjson.JSONDecodeError:
            return value
    return value
