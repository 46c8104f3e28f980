"""A first pass over the plan: how much room it needs, before anything is computed."""

from hitledger_replay.blocks import blocks_for
from hitledger_replay.errors import ReplayError
from hitledger_replay.sessions.expected import ExpectedReads
from hitledger_replay.sessions.memory import Demand
from hitledger_replay.sessions.plan import PlannedCall, ReplayPlan

SCALE_MARGIN = 0.95
"""`--scale auto` leaves this share of the context to the longest prompt; the rest is for its reply."""


def survey(plan: ReplayPlan, block_size: int, lifetime: float | None) -> Demand:
    """Blocks for all calls with nothing evicted, and for the longest call alone, twice, in an engine of its own.

    Raises ReplayError if no call can be replayed.
    """
    expected = ExpectedReads(block_size, lifetime)
    blocks, longest, longest_call, count = 0, 0, "", 0
    for call in plan:
        if not isinstance(call, PlannedCall) or not call.prompt:
            continue
        count += 1
        blocks += expected.next(call).new_blocks
        tokens = len(call.prompt) + max(len(call.reply) - 1, 0)
        if tokens > longest:
            longest, longest_call = tokens, call.id
    if not count:
        raise ReplayError(
            "no call can be replayed: the logs hold usage only, every call was refused, or --scale leaves no token"
        )
    twin_blocks = 1 + 2 * blocks_for(longest, block_size) + 1
    return Demand(1 + blocks + 1, twin_blocks, longest_call, longest, count)


def require_context(demand: Demand, max_tokens: int, model: str) -> None:
    """Raise ReplayError if the longest call does not fit the model's positions."""
    if demand.longest_tokens > max_tokens:
        raise ReplayError(
            f"call {demand.longest_call} has {demand.longest_tokens:,} tokens, {model} holds {max_tokens:,}; "
            "use --scale auto to shorten every prompt alike, --mode tiny, which has no limit, or --mode plan"
        )


def scale_to_fit(demand: Demand, max_tokens: int) -> float:
    """The factor that makes the longest call fit; 1 if it fits already."""
    return min(1.0, SCALE_MARGIN * max_tokens / demand.longest_tokens)
