"""The figures of a check written out: the money first, each with how sure it is."""

from dataclasses import dataclass
from decimal import Decimal

from hitledger.check.figures import Shares
from hitledger.check.findings import CheckFinding, Level
from hitledger.check.result import CheckResult, Traffic, Ttft
from hitledger.types import Certainty
from hitledger_reports import figures


@dataclass(frozen=True, slots=True)
class Row:
    """One figure on both sides."""

    label: str
    before: str
    after: str
    change: str


def headline(result: CheckResult) -> str:
    """One sentence: what the change costs, else what the static part says."""
    day = result.cost_per_day
    if day is None or result.traffic is None:
        errors, warnings = (sum(one.level is level for one in result.open) for level in (Level.ERROR, Level.WARNING))
        found = [figures.plural(number, what) for number, what in ((errors, "error"), (warnings, "warning")) if number]
        return f"{' and '.join(found) or 'No error'} in the prompt."
    sure = result.traffic.certainty
    once = f"once {figures.usd(result.one_off_cost, sure)} at the deploy"
    left = result.traffic.unmeasured
    missed = f"; {figures.plural(len(left), 'changed file')} not measured" if left else ""
    return f"{signed_usd(day.change, sure)} a day{_percent(day.before, day.change)}, {once}{missed}"


def rows(result: CheckResult) -> tuple[Row, ...]:
    """The figures of the traffic part; none without recorded traffic."""
    traffic = result.traffic
    if traffic is None or result.hit_rate is None or result.cost_per_day is None or result.cost_per_1000_calls is None:
        return ()
    sure = traffic.certainty
    money = (
        ("Cost a day", result.cost_per_day),
        ("Cost a session", traffic.cost_per_session),
        ("Cost of 1,000 calls", result.cost_per_1000_calls),
    )
    listed = [
        Row(name, figures.usd(amounts.before, sure), figures.usd(amounts.after, sure), signed_usd(amounts.change, sure))
        for name, amounts in money
    ]
    listed += [_hit_rate(result.hit_rate, sure), _prompt_tokens(traffic)]
    return (*listed, _ttft(traffic.ttft)) if traffic.ttft is not None else tuple(listed)


def _hit_rate(rate: Shares, sure: Certainty) -> Row:
    points = None if rate.drop is None else 0.0 - rate.drop * 100  # never -0
    change = figures.UNKNOWN if points is None else figures.minus(f"{points:+.1f} points")
    return Row("Hit rate", figures.share(rate.before, sure), figures.share(rate.after, sure), change)


def _prompt_tokens(traffic: Traffic) -> Row:
    tokens, sure = traffic.input_tokens, traffic.certainty
    before, after = (Decimal(side) / traffic.calls for side in (tokens.before, tokens.after))
    return Row(
        "Prompt tokens a call",
        figures.count(round(before), sure),
        figures.count(round(after), sure),
        figures.minus(f"{round(after - before):+,}"),
    )


def _ttft(ttft: Ttft) -> Row:
    old, new = ttft.before_ms, ttft.after_ms
    change = figures.minus(f"{new - old:+,.1f} ms")
    return Row("TTFT (fitted, estimated)", f"~{old:,.1f} ms", f"~{new:,.1f} ms", change)


def remarks(result: CheckResult) -> tuple[str, ...]:
    """What a reader has to know beside the figures."""
    traffic = result.traffic
    if traffic is None:
        return ("Only the prompt itself was examined; --baseline with --logs says what a change costs.",)
    calls, sessions = figures.plural(traffic.calls, "recorded call"), figures.plural(traffic.sessions, "session")
    where = f"{traffic.calls_substituted:,} of {calls} ({traffic.sessions_substituted:,} of {sessions})"
    found = [
        f"Not measured: {file} was changed, and its baseline stands in no recorded call." for file in traffic.unmeasured
    ]
    found.append(f"The baseline stands in {where}; the others stay as they are.")
    if traffic.rewritten_tokens:
        found.append(
            f"At the deploy {figures.plural(traffic.warm_sessions, 'warm session')} "
            f"write {figures.short(traffic.rewritten_tokens, traffic.certainty)} tokens again"
            + (f" (busiest moment recorded: {traffic.deploy_at})." if traffic.deploy_at else ".")
        )
    if traffic.rollout is not None:
        found.append(f"The roll-out by and by costs {figures.usd(traffic.rollout.cost, traffic.certainty)} once.")
    if traffic.spread is not None:
        rate, cost = traffic.spread.hit_rate_change, traffic.spread.cost_change
        text = f"hit rate {rate.low * 100:+.1f} to {rate.high * 100:+.1f} points"
        if cost is not None:
            text += f", cost {cost.low * 100:+.1f} to {cost.high * 100:+.1f} %"
        found.append(figures.minus(f"With other sessions (95 %, {traffic.spread.sessions} drawn again): {text}."))
    if traffic.reported_hit_rate is not None and result.hit_rate is not None:
        found.append(
            f"The provider reported a hit rate of {figures.share(traffic.reported_hit_rate)} for these calls; "
            f"the rules give {figures.share(result.hit_rate.before, traffic.certainty)}."
        )
    found += [f"Left out: {figures.plural(number, 'call')}, {why}." for why, number in traffic.calls_left_out.items()]
    found += [f"Not priced: {why}." for why in traffic.unpriced]
    return (*found, *traffic.notes)


def advice(result: CheckResult) -> str:
    """What to move where; "" where nothing would be saved."""
    move = result.move
    if move is None:
        return ""
    saved = f"{figures.count(move.tokens, Certainty.ESTIMATED)} tokens a call would stay readable"
    if result.move_saves_per_1000_calls is not None:
        saved += f", {figures.usd(result.move_saves_per_1000_calls, Certainty.ESTIMATED)} less for 1,000 calls"
    target = f"to the end of {move.behind}" if move.behind == move.path else f"behind {move.behind}"
    return f"Move what changes, from characters {move.start} to {move.end} of {move.path} on, {target}: {saved}."


def place_of(finding: CheckFinding) -> str:
    """Where a finding stands."""
    return f"{finding.file}:{finding.line}" + (f" {finding.path}" if finding.path else "")


def explanation(finding: CheckFinding) -> str:
    """What was seen, and under which conditions."""
    parts = [finding.note] if finding.note else []
    if finding.conditions:
        parts.append(f"changes with: {', '.join(finding.conditions)}")
    return "; ".join(parts)


def signed_usd(value: Decimal | None, certainty: Certainty) -> str:
    """Money with its sign: more is +."""
    text = figures.usd(value, certainty)
    return text if value is None or value <= 0 else f"+{text}"


def _percent(before: Decimal | None, change: Decimal | None) -> str:
    if not before or not change:
        return ""
    return figures.minus(f" ({100 * change / before:+.1f} %)")
