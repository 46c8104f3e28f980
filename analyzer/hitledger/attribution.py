"""Where the difference between ideal and reported went."""

from hitledger.expect import Expectation
from hitledger.policies.cache import Obstacle
from hitledger.results import Attribution
from hitledger.verdicts import Verdict

CLASS_OF_CAUSE = {
    "ttl.expired": "expired",
    "breakpoint.beyond_lookback": "beyond_lookback",
    "breakpoint.below_minimum": "below_minimum",
    "server.thinking_stripped": "server",
    "concurrency.cold_fanout": "server",
    "unexplained": "unexplained",
}
CLASS_OF_OBSTACLE = {
    Obstacle.EXPIRED: "expired",
    Obstacle.BEYOND_LOOKBACK: "beyond_lookback",
    Obstacle.NOT_YET_VISIBLE: "server",
    Obstacle.BEHIND_MARKS: "client",
}

NOTHING_MISSING = Attribution()


def ideal_of(total: int | None, readable_before: int | None, expected: int | None) -> int | None:
    """What would have been read had nothing in front changed, moved or expired, capped by this prompt's `total`.

    What the rule lets it read of other calls (`expected`) is part of it: a cold start has nothing else, and another
    call can have left more than the predecessor did.
    """
    ideal = readable_before
    if ideal is None or (expected is not None and expected > ideal):
        ideal = expected
    return ideal if ideal is None or total is None or ideal < total else total


def attribution_of(ideal: int | None, verdict: Verdict, expectation: Expectation | None) -> Attribution | None:
    """The parts of ideal - reported; they sum to it. None where one of the two is unknown."""
    read = verdict.read
    if ideal is None or read is None:
        return None
    missing = max(0, ideal - read)
    if not missing:
        return NOTHING_MISSING
    if verdict.diagnosis is not None:
        return Attribution(**{CLASS_OF_CAUSE.get(verdict.diagnosis.cause, "client"): missing})
    expected = expectation.forecast.read if expectation is not None else read
    unexplained = min(missing, max(0, expected - read))
    blocked = expectation.blocked if expectation is not None else None
    rest = CLASS_OF_OBSTACLE[blocked.obstacle] if blocked is not None else "client"
    return Attribution(**{rest: missing - unexplained, "unexplained": unexplained})
