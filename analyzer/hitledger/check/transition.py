"""What the change of version itself costs: prefixes that are warm at that moment have to be written again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from math import inf

from hitledger.check.simulate import Outcome
from hitledger.errors import UsageError
from hitledger.time_order import in_time_order
from hitledger.types import Call

Simulate = Callable[[Sequence[Call]], list[Outcome | None]]


@dataclass(frozen=True, slots=True)
class Worlds:
    """The recorded calls with the baseline, with the candidate, and what the rules make of either."""

    before: tuple[Call, ...]
    after: tuple[Call, ...]
    outcomes_before: tuple[Outcome | None, ...]
    outcomes_after: tuple[Outcome | None, ...]

    def changed(self, index: int) -> bool:
        """Whether a call differs between the two."""
        return self.before[index] is not self.after[index]


@dataclass(frozen=True, slots=True)
class Transition:
    """Calls on the candidate (True) or on the baseline while the version changes, and what that costs more.

    `cost` None: a call that costs more has no price. `rewritten` are tokens by call index.
    """

    candidate: tuple[bool, ...]
    cost: Decimal | None
    rewritten: dict[int, int]


def busiest_moment(worlds: Worlds) -> int:
    """The place in time order at which a deploy costs the most reads: calls from there on get the candidate.

    In the world of the candidate, a read at place j of what was written at place i is lost by a deploy in between.
    The place that most such tokens span is taken, the earliest of equal ones.
    """
    order = in_time_order(worlds.before)
    rank = {index: place for place, index in enumerate(order)}
    steps = [0] * (len(order) + 2)
    for index, outcome in enumerate(worlds.outcomes_after):
        if outcome is None or outcome.source is None or not worlds.changed(index):
            continue
        steps[rank[outcome.source] + 1] += outcome.read
        steps[rank[index] + 1] -= outcome.read
    best, spanned, most = 0, 0, 0
    for place, step in enumerate(steps):
        spanned += step
        if spanned > most:
            best, most = place, spanned
    return best


def moment_of(worlds: Worlds, at: datetime) -> int:
    """The place in time order of the first call at or behind an instant."""
    order = in_time_order(worlds.before)
    return sum(1 for index in order if (started := worlds.before[index].started_at) is None or started < at)


def deploy(worlds: Worlds, moment: int, simulate: Simulate) -> Transition:
    """All calls from a place in time order on get the candidate at once."""
    order = in_time_order(worlds.before)
    late = set(order[moment:])
    return _transition(worlds, tuple(index in late for index in range(len(order))), simulate)


def roll_out(worlds: Worlds, moment: int, shares: Sequence[tuple[float, float]], simulate: Simulate) -> Transition:
    """Calls get the candidate with a share that grows over time: (minutes after the moment, share), ascending.

    Which calls do is decided by their id, so that the same log gives the same fleet.
    """
    order = in_time_order(worlds.before)
    start = worlds.before[order[min(moment, len(order) - 1)]].started_at
    candidate = [False] * len(order)
    for index in order[moment:]:
        call = worlds.before[index]
        minutes = (call.started_at - start).total_seconds() / 60 if call.started_at and start else 0.0
        share = max((share for since, share in shares if since <= minutes), default=0.0)
        candidate[index] = _drawn(call.id) < share
    return _transition(worlds, tuple(candidate), simulate)


def parse_shares(text: str) -> tuple[tuple[float, float], ...]:
    """`0:10%,30:50%,60:100%`: minutes after the start and the share of calls on the candidate. Raises UsageError."""
    found: list[tuple[float, float]] = []
    for part in text.split(","):
        minutes, _, share = part.partition(":")
        try:
            found.append((float(minutes), float(share.strip().removesuffix("%")) / 100))
        except ValueError:
            raise UsageError(f"--rollout {text}: give MINUTES:SHARE%, such as 0:10%,30:50%,60:100%") from None
    shares = [share for _, share in found]
    if not all(0 <= minutes < inf for minutes, _ in found):
        raise UsageError(f"--rollout {text}: minutes are those after the start, 0 or more")
    if sorted(found) != found or sorted(shares) != shares or not 0 <= shares[0] <= shares[-1] <= 1:
        raise UsageError(f"--rollout {text}: minutes and shares grow, shares are between 0% and 100%")
    return tuple(found)


def _drawn(call: str) -> float:
    return int.from_bytes(blake2b(call.encode(errors="replace"), digest_size=6).digest()) / 2**48


def _transition(worlds: Worlds, candidate: tuple[bool, ...], simulate: Simulate) -> Transition:
    """Run the mixed sequence; the extra is what each call costs more than in a world of its own version alone."""
    mixed = simulate([a if new else b for a, b, new in zip(worlds.after, worlds.before, candidate, strict=True)])
    cost: Decimal | None = Decimal(0)
    rewritten: dict[int, int] = {}
    for index, (outcome, new) in enumerate(zip(mixed, candidate, strict=True)):
        own = worlds.outcomes_after[index] if new else worlds.outcomes_before[index]
        if outcome is None or own is None or outcome.usage == own.usage:
            continue
        if own.read > outcome.read:
            rewritten[index] = own.read - outcome.read
        known = outcome.cost is not None and own.cost is not None
        cost = cost + outcome.cost - own.cost if known and cost is not None else None  # type: ignore[operator]
    return Transition(candidate, None if cost is None else max(cost, Decimal(0)), rewritten)
