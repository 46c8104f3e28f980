"""Simulated usage of calls: what their rules make readable, breaks mended or not, with what a mended prompt carries on.

A break that is mended reads what its predecessor left, and no more: never what nobody wrote. Where the prompt had
shrunk, mending means that what was cut away stays in it, in this call and in all that continue it; those tokens are
charged, as reads where the cache holds and as writes where it does not.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from hitledger.chains import Link
from hitledger.expect import Expectation, Forecaster
from hitledger.policies.cache import Obstacle
from hitledger.time_order import in_sequence
from hitledger.types import CacheWrite, Call, Usage

COMPACTED = "messages.compacted"


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """One call as its rule has it. Token classes are disjoint; `carried` of the prompt is what mending kept in it."""

    uncached: int
    read: int
    writes: tuple[tuple[str, int], ...]
    left: int  # readable behind it
    carried: int

    @property
    def written(self) -> int:
        """All written tokens."""
        return sum(tokens for _, tokens in self.writes)

    @property
    def input_tokens(self) -> int:
        """The whole prompt."""
        return self.uncached + self.read + self.written

    def usage(self, call: Call) -> Usage:
        """As usage, with the call's own output."""
        output = call.usage.output_tokens if call.usage is not None else None
        writes = tuple(CacheWrite(ttl, tokens) for ttl, tokens in self.writes)
        return Usage(self.uncached, self.read, writes, output)


def simulate(
    calls: Sequence[Call],
    links: Sequence[Link],
    forecaster: Forecaster,
    mended: AbstractSet[int] = frozenset(),
    compacted: AbstractSet[int] = frozenset(),
) -> list[SimulatedCall | None]:
    """Calls whose logged reads were taken out, in input order; None for those that no rule covers.

    `mended`: indices of calls that read what their predecessor left. `compacted`: calls that begin with a summary, to
    which nothing is carried on.
    """
    expectations = forecaster.all(calls)
    found: list[SimulatedCall | None] = [None] * len(links)
    for index in in_sequence(calls):  # a call that was resumed can stand before the one that it continues
        link, expectation = links[index], expectations[index]
        if expectation is None:
            continue
        before = found[link.predecessor] if link.predecessor is not None else None
        plain = _plain(expectation, calls[index])
        if index in mended and (before is None or plain.read < before.left):
            tail = _tail(calls[link.predecessor], expectation) if link.predecessor is not None else 0
            found[index] = _mended(plain, expectation, before, tail)
        else:
            found[index] = _carrying(plain, before, index in compacted)
    return found


def _plain(expectation: Expectation, call: Call) -> SimulatedCall:
    view, forecast = expectation.view, expectation.forecast
    total = call.usage.input_tokens if call.usage is not None else view.tokens_at(view.length)
    read = min(forecast.read, total)
    writes: list[tuple[str, int]] = []
    room = total - read
    for ttl, tokens in forecast.writes:
        writes.append((ttl, min(tokens, room)))
        room -= writes[-1][1]
    return SimulatedCall(room, read, tuple(writes), expectation.left, 0)


def _mended(plain: SimulatedCall, expectation: Expectation, before: SimulatedCall | None, tail: int) -> SimulatedCall:
    """Reads what was left; what was cut away since then stays in the prompt."""
    if before is None:
        blocked = expectation.blocked
        waited = blocked.tokens if blocked is not None and blocked.obstacle is Obstacle.NOT_YET_VISIBLE else 0
        return _read_more(plain, waited - plain.read)
    end = plain.read + plain.written if plain.writes else plain.input_tokens
    grown = _grown(plain, max(0, before.left + tail - end))
    return _read_more(grown, before.left - plain.read)


def _carrying(plain: SimulatedCall, before: SimulatedCall | None, compacted: bool) -> SimulatedCall:
    """What mending kept in the predecessor's prompt stands in this one too."""
    carried = before.carried if before is not None and not compacted else 0
    if not carried or before is None:
        return plain
    grown = _grown(plain, carried)
    return _read_more(grown, carried) if plain.read >= before.left - carried else grown


def _grown(plain: SimulatedCall, tokens: int) -> SimulatedCall:
    """So many tokens more in the prompt: written where this call writes, else computed."""
    writes, uncached = plain.writes, plain.uncached
    if writes:
        (ttl, first), *rest = writes
        writes = ((ttl, first + tokens), *rest)
    else:
        uncached += tokens
    return SimulatedCall(uncached, plain.read, writes, plain.left + tokens, tokens)


def _read_more(plain: SimulatedCall, tokens: int) -> SimulatedCall:
    """So many tokens read instead of written, first those that stand first; then instead of computed."""
    left = max(0, tokens)
    writes: list[tuple[str, int]] = []
    for ttl, written in plain.writes:
        moved = min(left, written)
        left -= moved
        if written > moved:
            writes.append((ttl, written - moved))
    uncached = plain.uncached if plain.writes else max(0, plain.uncached - left)
    read = plain.input_tokens - uncached - sum(kept for _, kept in writes)
    return SimulatedCall(uncached, read, tuple(writes), plain.left, plain.carried)


def _tail(before: Call, expectation: Expectation) -> int:
    """Tokens at the end of the prompt that the predecessor's did not have: its answer and what came in since.

    Where the predecessor goes on behind the last segment that both have, so many of the unknown ones stand in place of
    its own and are no addition.
    """
    view = expectation.view
    places = {segment.digest: index for index, segment in enumerate(before.prompt.segments())}
    start = view.length
    while start and view.segment(start - 1).digest not in places:
        start -= 1
    shared = places[view.segment(start - 1).digest] if start else -1
    start = min(view.length, start + len(before.prompt) - 1 - shared)
    return view.tokens_at(view.length) - view.tokens_at(start)
