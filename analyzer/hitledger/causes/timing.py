"""Nothing in the payload changed: lifetime, look-back, a first token not there yet, thinking dropped by the server."""

from hitledger.causes.case import Case, Confidence, Diagnosis
from hitledger.policies.cache import Obstacle
from hitledger.policies.rule import Algorithm
from hitledger.prefix import APPEND_ONLY


def expired(case: Case) -> Diagnosis | None:
    """The gap from start to start is longer than the lifetime, and no other call kept the entry alive meanwhile."""
    gap, lifetime = case.gap_seconds, case.ttl_seconds
    if gap is None or lifetime is None or gap <= lifetime:
        return None
    if case.expectation is not None and case.expectation.forecast.read >= case.readable_before:
        return None
    certain = case.rule is not None and not case.rule.best_effort and "start_estimated" not in case.call.notes
    note = f"{gap:,.0f} s since the last use, lifetime {lifetime:,} s"
    return Diagnosis("ttl.expired", Confidence.CERTAIN if certain else Confidence.LIKELY, APPEND_ONLY, note)


def stripped(case: Case) -> Diagnosis | None:
    """The server dropped the thinking of finished turns: sent append-only, cached not."""
    if case.effective.append_only or not case.difference.append_only:
        return None
    path = case.effective.before.path if case.effective.before else APPEND_ONLY
    return Diagnosis("server.thinking_stripped", Confidence.LIKELY, path, "the model drops thinking of finished turns")


def beyond_lookback(case: Case) -> Diagnosis | None:
    """The entry lies further back than a mark looks."""
    blocked = case.expectation.blocked if case.expectation else None
    if blocked is None or blocked.obstacle is not Obstacle.BEYOND_LOOKBACK:
        return None
    reach = case.rule.lookback if case.rule else 0
    if case.rule is not None and case.rule.algorithm is Algorithm.MESSAGE_ENDS:
        note = f"the entry is the end of a message {blocked.positions_back} back, a lookup goes back over {reach}"
    else:
        note = f"the entry lies {blocked.positions_back} positions before the last mark, a mark looks back over {reach}"
    return Diagnosis("breakpoint.beyond_lookback", Confidence.CERTAIN, APPEND_ONLY, note)


def cold_fanout(case: Case) -> Diagnosis | None:
    """Sent before the first token of the request that wrote the entry."""
    blocked = case.expectation.blocked if case.expectation else None
    if blocked is None or blocked.obstacle is not Obstacle.NOT_YET_VISIBLE:
        return None
    return fanned_out()


def fanned_out() -> Diagnosis:
    """A cold start whose prefix another request was still writing: the one break between sessions."""
    note = "sent before the first token of the request that was writing the same prefix"
    return Diagnosis("concurrency.cold_fanout", Confidence.CERTAIN, APPEND_ONLY, note)
