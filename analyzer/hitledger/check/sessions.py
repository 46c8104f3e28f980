"""What a change does to each recorded session."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

from hitledger.causes.case import changes
from hitledger.check.bootstrap import SessionSums
from hitledger.check.figures import Amounts, Shares, Tokens
from hitledger.check.result import SessionEffect
from hitledger.check.simulate import Outcome
from hitledger.check.transition import Transition, Worlds
from hitledger.prefix import first_difference
from hitledger.time_order import in_time_order
from hitledger.types import Call


def by_session(worlds: Worlds) -> dict[str, list[int]]:
    """Call indices by session, sessions and calls in time order; calls that no side simulates are left out."""
    found: dict[str, list[int]] = defaultdict(list)
    for index in in_time_order(worlds.before):
        if worlds.outcomes_before[index] is not None and worlds.outcomes_after[index] is not None:
            found[worlds.before[index].session].append(index)
    return dict(found)


def sums_of(worlds: Worlds, indices: list[int]) -> SessionSums:
    """A session's part in the totals."""
    before, after = _sides(worlds, indices)
    return SessionSums(
        input_before=sum(one.usage.input_tokens for one in before),
        input_after=sum(one.usage.input_tokens for one in after),
        read_before=sum(one.read for one in before),
        read_after=sum(one.read for one in after),
        cost_before=float(cost_of(before) or 0),
        cost_after=float(cost_of(after) or 0),
    )


def effect_of(
    worlds: Worlds, session: str, indices: list[int], stands: frozenset[int], deploy: Transition
) -> SessionEffect:
    """One row."""
    before, after = _sides(worlds, indices)
    changed = [index for index in indices if worlds.changed(index)]
    late = [index for index in changed if deploy.candidate[index]] or changed
    return SessionEffect(
        id=session,
        calls=len(indices),
        calls_substituted=sum(index in stands for index in indices),
        hit_rate=Shares(hit_rate(before), hit_rate(after)),
        cost=Amounts(cost_of(before), cost_of(after)).rounded(),
        input_tokens=Tokens(*(sum(one.usage.input_tokens for one in side) for side in (before, after))),
        path=_path(worlds.before[late[0]], worlds.after[late[0]]) if late else "",
        rewritten_tokens=sum(deploy.rewritten.get(index, 0) for index in indices),
        broken_calls=sum(index in deploy.rewritten for index in indices),
    )


def hit_rate(outcomes: Iterable[Outcome]) -> float | None:
    """Cache-read tokens / all input tokens."""
    found = list(outcomes)
    total = sum(one.usage.input_tokens for one in found)
    return sum(one.read for one in found) / total if total else None


def cost_of(outcomes: Iterable[Outcome]) -> Decimal | None:
    """The sum, None where one has no price."""
    total = Decimal(0)
    for one in outcomes:
        if one.cost is None:
            return None
        total += one.cost
    return total


def _sides(worlds: Worlds, indices: list[int]) -> tuple[list[Outcome], list[Outcome]]:
    before = [one for index in indices if (one := worlds.outcomes_before[index]) is not None]
    after = [one for index in indices if (one := worlds.outcomes_after[index]) is not None]
    return before, after


def _path(before: Call, after: Call) -> str:
    """The first value that differs: of the prompt, the model, a mark, a parameter."""
    found = first_difference(before.prompt, after.prompt)
    if not found.append_only:
        return found.path
    if found.after is not None:
        return found.after.path
    if before.model != after.model:
        return "model"
    both = zip(before.prompt.segments(), after.prompt.segments(), strict=True)
    marks = (new.path for old, new in both if old.mark != new.mark)
    return next(marks, "") or next((change.path for change in changes(before.parameters, after.parameters)), "")
