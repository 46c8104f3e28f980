"""Two audits side by side: what got better and what got worse. Logs differ in size, so shares decide, not sums."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hitledger.results import Audit
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
    whole = (
        _size("Calls", before.calls, after.calls),
        _size("Input tokens", before.input_tokens, after.input_tokens),
        Change("Paid", figures.usd(before.cost), figures.usd(after.cost), "", Verdict.NONE),
        _quality("Hit rate", before.hit_rate, after.hit_rate, figures.share, more_is_better=True),
        _quality("Paid per million input tokens", _rate(before), _rate(after), _dollars),
        _quality("Share of the bill lost to breaks", lost_share(before), lost_share(after), figures.share),
        _quality("Rebilled tokens per 1,000 of input", _rebilled(before), _rebilled(after), _decimal),
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
        f"{figures.plural(before.breaks, 'break')}, {figures.usd(before.break_cost)}" if before.breaks else "none",
        f"{figures.plural(after.breaks, 'break')}, {figures.usd(after.break_cost)}" if after.breaks else "none",
        f"{old:.1f} to {new:.1f} per 100 calls",
        _verdict(old, new, more_is_better=False),
    )


def _size(label: str, old: int, new: int) -> Change:
    return Change(label, figures.count(old), figures.count(new), _percent(old, new), Verdict.NONE)


def _quality(
    label: str, old: float | None, new: float | None, write: Callable[[float | None], str], more_is_better: bool = False
) -> Change:
    change = "" if old is None or new is None else _percent(old, new)
    return Change(label, write(old), write(new), change, _verdict(old, new, more_is_better))


def _verdict(old: float | None, new: float | None, more_is_better: bool) -> Verdict:
    if old is None or new is None:
        return Verdict.NONE
    if abs(new - old) <= STEADY * abs(old):
        return Verdict.SAME
    return Verdict.BETTER if (new > old) == more_is_better else Verdict.WORSE


def _percent(old: float, new: float) -> str:
    return figures.minus(f"{(new - old) / old * 100:+,.1f} %") if old else ""


def _rate(whole: Sum) -> float | None:
    return float(whole.cost) / whole.input_tokens * 1_000_000 if whole.cost is not None and whole.input_tokens else None


def _rebilled(whole: Sum) -> float | None:
    return whole.rebilled_tokens * 1_000 / whole.input_tokens if whole.input_tokens else None


def _breaks(whole: Sum) -> float | None:
    return whole.breaks * 100 / whole.calls if whole.calls else None


def _decimal(value: float | None) -> str:
    return figures.UNKNOWN if value is None else f"{value:,.1f}"


def _dollars(value: float | None) -> str:
    return figures.UNKNOWN if value is None else f"${value:,.2f}"
