"""Two audits side by side: what got better and what got worse. Logs differ in size, so shares decide, not sums."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hitledger.columns import columns
from hitledger.results import Audit
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.shown import shown
from hitledger_reports.view.groups import Sum, causes, total
from hitledger_reports.view.overview import lost_share

STEADY = 0.02  # a change below this share of the old figure is called neither better nor worse


class Verdict(StrEnum):
    """What a change means for the bill."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    NONE = ""  # a size, not a quality; or unknown on one side


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of both audits."""

    label: str
    old: str
    new: str
    change: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whole audits first, then causes, worst new ones first."""

    summary: str
    whole: tuple[Change, ...]
    causes: tuple[Change, ...]


def compare(old: Audit, new: Audit) -> Comparison:
    """`new` measured against `old`."""
    before, after = total(old), total(new)
    bills, tokens = (before.cost_certainty, after.cost_certainty), (before.certainty, after.certainty)
    losses = (before.loss_certainty, after.loss_certainty)
    shares = tuple(figures.weakest(pair) for pair in zip(bills, losses, strict=True))
    whole = (
        _size("Calls", before.calls, after.calls),
        _size("Input tokens", before.input_tokens, after.input_tokens),
        Change("Paid", _paid(before), _paid(after), "", Verdict.NONE),
        _quality("Hit rate", before.hit_rate, after.hit_rate, figures.share, more_is_better=True),
        _quality("Paid per million input tokens", _rate(old), _rate(new), _dollars, bills),
        _quality("Share of the bill lost to breaks", lost_share(before), lost_share(after), figures.share, shares),
        _quality("Rebilled tokens per 1,000 of input", _rebilled(before), _rebilled(after), _decimal, tokens),
        _quality("Breaks per 100 calls", _breaks(before), _breaks(after), _decimal),
    )
    return Comparison(_summary(whole), whole, _causes(old, new))


def _summary(whole: tuple[Change, ...]) -> str:
    verdicts = [change.verdict for change in whole]
    better, worse = verdicts.count(Verdict.BETTER), verdicts.count(Verdict.WORSE)
    return f"{better} of {sum(v is not Verdict.NONE for v in verdicts)} figures got better, {worse} got worse."


def _causes(old: Audit, new: Audit) -> tuple[Change, ...]:
    sizes = (max(len(old.calls), 1), max(len(new.calls), 1))
    before, after = causes(old.breaks), causes(new.breaks)
    return tuple(
        _cause(name, before.get(name, Sum()), after.get(name, Sum()), sizes)
        for name in dict.fromkeys((*after, *before))
    )


def _cause(name: str, before: Sum, after: Sum, sizes: tuple[int, int]) -> Change:
    old, new = before.breaks * 100 / sizes[0], after.breaks * 100 / sizes[1]
    return Change(
        shown(name),
        _lost(before),
        _lost(after),
        f"{old:.1f} to {new:.1f} per 100 calls",
        _verdict(old, new, more_is_better=False),
    )


def _paid(whole: Sum) -> str:
    return figures.usd(whole.cost, whole.cost_certainty)


def _lost(group: Sum) -> str:
    cost = figures.usd(group.break_cost, group.loss_certainty)
    return f"{figures.plural(group.breaks, 'break')}, {cost}" if group.breaks else "none"


def _size(label: str, old: int | None, new: int | None) -> Change:
    change = "" if old is None or new is None else _percent(old, new)
    return Change(label, figures.count(old), figures.count(new), change, Verdict.NONE)


def _quality(
    label: str,
    old: float | None,
    new: float | None,
    write: Callable[[float | None], str],
    sure: tuple[Certainty, ...] = (Certainty.EXACT, Certainty.EXACT),
    more_is_better: bool = False,
) -> Change:
    change = "" if old is None or new is None else _percent(old, new)
    before, after = (
        ("" if value is None else figures.SIGN[certainty]) + write(value)
        for value, certainty in zip((old, new), sure, strict=True)
    )
    return Change(label, before, after, change, _verdict(old, new, more_is_better))


def _verdict(old: float | None, new: float | None, more_is_better: bool) -> Verdict:
    if old is None or new is None:
        return Verdict.NONE
    if abs(new - old) <= STEADY * abs(old):
        return Verdict.SAME
    return Verdict.BETTER if (new > old) == more_is_better else Verdict.WORSE


def _percent(old: float, new: float) -> str:
    return figures.minus(f"{(new - old) / old * 100:+,.1f} %") if old else ""


def _rate(audit: Audit) -> float | None:
    """Of the calls that have both: tokens without a price would make it too low, a cost without tokens too high."""
    costs, inputs = columns(audit.calls, "cost", "input_tokens")
    known = [(cost, whole) for cost, whole in zip(costs, inputs, strict=True) if cost is not None and whole is not None]
    tokens = sum(whole for _, whole in known)
    return float(sum(cost for cost, _ in known)) / tokens * 1_000_000 if tokens else None


def _rebilled(whole: Sum) -> float | None:
    return whole.rebilled_tokens * 1_000 / whole.input_tokens if whole.input_tokens else None


def _breaks(whole: Sum) -> float | None:
    return whole.breaks * 100 / whole.calls if whole.calls else None


def _decimal(value: float | None) -> str:
    return figures.UNKNOWN if value is None else f"{value:,.1f}"


def _dollars(value: float | None) -> str:
    return figures.UNKNOWN if value is None else f"${value:,.2f}"
