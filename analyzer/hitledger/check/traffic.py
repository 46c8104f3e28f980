"""The traffic part: recorded calls with baseline and candidate, simulated by the providers' rules, in money."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from hitledger.check.bootstrap import spread_of
from hitledger.check.calibration import ScaledCounter, carried_over, factors_of
from hitledger.check.figures import Amounts, Shares, Tokens, usd
from hitledger.check.pairs import Pair
from hitledger.check.recording import Recording
from hitledger.check.result import Rollout, SessionEffect, Traffic
from hitledger.check.sessions import by_session, cost_of, effect_of, hit_rate, sums_of
from hitledger.check.simulate import Outcome, Simulator
from hitledger.check.substitute import Substitution
from hitledger.check.transition import Transition, Worlds, busiest_moment, deploy, moment_of, roll_out
from hitledger.check.ttft import ttft_of
from hitledger.errors import NothingToReadError
from hitledger.measurement import Measurement
from hitledger.policies.rules import Rules
from hitledger.prices import PriceBook
from hitledger.types import Call, Certainty

DAY = 86_400


@dataclass(frozen=True, slots=True)
class TrafficOptions:
    """How the recorded traffic stands for the real one."""

    calls_per_day: int | None = None  # None: as many as were recorded
    deploy_at: datetime | None = None  # None: the busiest moment
    rollout: tuple[tuple[float, float], ...] | None = None
    replay: Measurement | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """The figures of the traffic part; those at its top are not rounded yet."""

    hit_rate: Shares
    one_off_cost: Decimal | None
    cost_per_day: Amounts
    cost_per_1000_calls: Amounts
    sessions: tuple[SessionEffect, ...]
    traffic: Traffic


def effect(
    recording: Recording, pairs: Sequence[Pair], rules: Rules, book: PriceBook, options: TrafficOptions
) -> Effect:
    """Put the candidate into the calls and compare. Raises NothingToReadError where the baseline stands in none."""
    before = recording.calls
    substitution = Substitution(pairs)
    after, stands = _substituted(before, substitution, recording)
    models = tuple(sorted(substitution.moved_to))
    factors = carried_over(factors_of(before, recording.counter), models)
    simulator = Simulator(rules, ScaledCounter(recording.counter, factors), book)
    old = tuple(simulator.run(before))
    changed = any(one is not other for one, other in zip(before, after, strict=True))
    new = tuple(simulator.run(after)) if changed else old
    worlds = Worlds(before, after, old, new)
    moment = busiest_moment(worlds) if options.deploy_at is None else moment_of(worlds, options.deploy_at)
    switch = deploy(worlds, moment, simulator.run) if changed else _nothing(worlds)
    groups = by_session(worlds)
    rows = tuple(effect_of(worlds, name, indices, stands, switch) for name, indices in groups.items())
    rollout = _rollout(worlds, moment, simulator, options.rollout) if options.rollout else None
    traffic = _traffic(recording, worlds, stands, switch, rows, factors, options)
    traffic = replace(
        traffic,
        certainty=Certainty.ESTIMATED if models else traffic.certainty,
        unmeasured=tuple(pair.candidate.file for pair in substitution.missing),
        notes=(*traffic.notes, *_of_models(models, pairs)),
        rollout=rollout,
        deploy_at=_instant(worlds, switch) if changed else "",
        spread=spread_of([sums_of(worlds, indices) for indices in groups.values()]),
    )
    return _priced(traffic, rows, worlds, switch, options)


def _substituted(
    before: Sequence[Call], substitution: Substitution, recording: Recording
) -> tuple[tuple[Call, ...], frozenset[int]]:
    found = [substitution.apply(call) for call in before]
    stands = frozenset(index for index, call in enumerate(found) if call is not None)
    if not stands:
        left = f" ({sum(recording.left_out.values())} calls were left out)" if recording.left_out else ""
        raise NothingToReadError(
            f"the baseline stands in the prompt of none of {len(before)} recorded calls{left}; give it as it was sent: "
            "without placeholders, or as module:function"
        )
    return tuple(call or own for call, own in zip(found, before, strict=True)), stands


def _of_models(models: Sequence[tuple[str, str]], pairs: Sequence[Pair]) -> Iterator[str]:
    for old, new in models:
        yield (
            f"The candidate asks {new} instead of {old}: priced and cached by the rules of {new}, with tokens counted "
            f"and answers as long as those of {old} (estimated)"
        )
    for pair in pairs:
        if pair.other_model and not models:
            asked = f"{pair.candidate.model or 'no model'} instead of {pair.baseline.model or 'none'}"
            yield f"The candidate asks {asked}, but no recorded call asked the baseline's model: all keep their own"


def _nothing(worlds: Worlds) -> Transition:
    return Transition((False,) * len(worlds.before), Decimal(0), {})


def _instant(worlds: Worlds, switch: Transition) -> str:
    times = [c.started_at for c, new in zip(worlds.before, switch.candidate, strict=True) if new and c.started_at]
    return min(times).strftime("%Y-%m-%dT%H:%M:%SZ") if times else ""


def _rollout(worlds: Worlds, moment: int, simulator: Simulator, shares: tuple[tuple[float, float], ...]) -> Rollout:
    mixed = roll_out(worlds, moment, shares, simulator.run)
    return Rollout(shares, usd(mixed.cost), sum(mixed.candidate), sum(mixed.rewritten.values()))


def _traffic(
    recording: Recording,
    worlds: Worlds,
    stands: frozenset[int],
    switch: Transition,
    rows: tuple[SessionEffect, ...],
    factors: dict[str, float],
    options: TrafficOptions,
) -> Traffic:
    simulated = [index for index, outcome in enumerate(worlds.outcomes_before) if outcome is not None]
    old, new = _known(worlds.outcomes_before), _known(worlds.outcomes_after)
    logged = all(worlds.before[index].model in factors for index in simulated) and not recording.from_audit
    cost = Amounts(cost_of(old), cost_of(new))
    return Traffic(
        calls=len(simulated),
        calls_substituted=len(stands),
        calls_left_out=recording.left_out,
        sessions=len(rows),
        sessions_substituted=sum(row.calls_substituted > 0 for row in rows),
        days=_days(worlds.before),
        reported_hit_rate=_reported([worlds.before[index] for index in simulated]),
        input_tokens=Tokens(*(sum(one.usage.input_tokens for one in side) for side in (old, new))),
        cost=cost.rounded(),
        warm_sessions=sum(row.broken_calls > 0 for row in rows),
        rewritten_tokens=sum(switch.rewritten.values()),
        unmeasured=(),
        deploy_at="",
        certainty=Certainty.CALIBRATED if logged else Certainty.ESTIMATED,
        rules=tuple(sorted({one.rule for one in (*old, *new)})),
        unpriced=tuple(sorted({one.error for one in (*old, *new) if one.error})),
        cost_per_session=cost.times(1 / Decimal(len(rows) or 1)).rounded(),
        spread=None,
        rollout=None,
        ttft=ttft_of(options.replay, old, new) if options.replay is not None else None,
        notes=recording.notes,
    )


def _priced(
    traffic: Traffic, rows: tuple[SessionEffect, ...], worlds: Worlds, switch: Transition, options: TrafficOptions
) -> Effect:
    calls = Decimal(traffic.calls)
    cost = Amounts(cost_of(_known(worlds.outcomes_before)), cost_of(_known(worlds.outcomes_after)))
    per_day = 1 / traffic.days if options.calls_per_day is None else options.calls_per_day / calls
    scale = Decimal(1) if options.calls_per_day is None else options.calls_per_day * traffic.days / calls
    return Effect(
        hit_rate=Shares(hit_rate(_known(worlds.outcomes_before)), hit_rate(_known(worlds.outcomes_after))),
        one_off_cost=None if switch.cost is None else switch.cost * scale,
        cost_per_day=cost.times(per_day),
        cost_per_1000_calls=cost.times(1000 / calls),
        sessions=rows,
        traffic=traffic,
    )


def _known(outcomes: Sequence[Outcome | None]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome is not None]


def _days(calls: Sequence[Call]) -> Decimal:
    """From the first call to the last; a log of less than a day stands for a day."""
    times = [call.started_at for call in calls if call.started_at is not None]
    if not times:
        return Decimal(1)
    return max(Decimal(1), Decimal(int((max(times) - min(times)).total_seconds())) / DAY)


def _reported(calls: Sequence[Call]) -> float | None:
    usages = [call.usage for call in calls if call.usage is not None and call.usage.cache_read_tokens is not None]
    total = sum(usage.input_tokens for usage in usages)
    return sum(usage.cache_read_tokens or 0 for usage in usages) / total if total else None
