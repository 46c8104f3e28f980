"""Hold the findings and figures against the limits: each rule with its value and its limit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hitledger.check.figures import Amounts
from hitledger.check.findings import CheckFinding, Level
from hitledger.check.limits import Increase, Limits
from hitledger.check.result import RuleResult
from hitledger.check.traffic import Effect

SHOWN = Decimal("0.000001")
FINDINGS = "findings"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is judged."""

    volatile: Sequence[CheckFinding]
    marks: Sequence[CheckFinding]
    effect: Effect | None


def rules_of(evidence: Evidence, limits: Limits) -> tuple[RuleResult, ...]:
    """Two rules always hold: a rendered prefix is stable, and marks are accepted. The others where they are asked for.

    A limit on the traffic brings one more: that the traffic shows all that was changed.

    Known findings do not count.
    """
    return tuple(_static(evidence, limits)) + tuple(_traffic(evidence, limits))


def _static(evidence: Evidence, limits: Limits) -> Iterator[RuleResult]:
    yield _none_of("stable-prefix", evidence.volatile, (Level.ERROR,))
    yield _none_of("accepted-marks", evidence.marks, (Level.ERROR,))
    if limits.no_volatile_prefix:
        yield _none_of("no-volatile-prefix", evidence.volatile, (Level.ERROR, Level.WARNING))
    if limits.no_bad_marks:
        yield _none_of("no-bad-marks", evidence.marks, (Level.ERROR, Level.WARNING))


def _none_of(name: str, findings: Sequence[CheckFinding], levels: tuple[Level, ...]) -> RuleResult:
    number = sum(one.level in levels and not one.known for one in findings)
    return RuleResult(name, Decimal(number), Decimal(0), FINDINGS, number == 0)


def _traffic(evidence: Evidence, limits: Limits) -> Iterator[RuleResult]:
    effect = evidence.effect
    if effect is None or not limits.need_traffic:
        return
    unmeasured = Decimal(len(effect.traffic.unmeasured))
    yield RuleResult(
        "all-changes-measured", unmeasured, Decimal(0), "changed files in no recorded call", not unmeasured
    )
    if limits.max_hit_rate_drop is not None:
        drop = effect.hit_rate.drop
        value = None if drop is None else Decimal(drop) * 100
        yield _at_most("max-hit-rate-drop", value, limits.max_hit_rate_drop, "percentage points")
    if limits.max_cost_increase is not None:
        yield _increase(effect.cost_per_day, limits.max_cost_increase)
    if limits.max_one_off_cost is not None:
        yield _at_most("max-one-off-cost", effect.one_off_cost, limits.max_one_off_cost, "USD")
    if limits.max_added_tokens is not None:
        tokens = effect.traffic.input_tokens
        added = Decimal(tokens.after - tokens.before) / effect.traffic.calls
        yield _at_most("max-added-tokens", added, limits.max_added_tokens, "tokens a call")


def _increase(cost: Amounts, limit: Increase) -> RuleResult:
    value = cost.change
    if value is not None and limit.percent:
        value = 100 * value / cost.before if cost.before else None
    return _at_most("max-cost-increase", value, limit.limit, "%" if limit.percent else "USD a day")


def _at_most(name: str, value: Decimal | None, limit: Decimal, unit: str) -> RuleResult:
    """A value that is not known does not pass."""
    shown = None if value is None else value.quantize(SHOWN) + 0  # never -0
    return RuleResult(name, shown, limit, unit, value is not None and value <= limit)
