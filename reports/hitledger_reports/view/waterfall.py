"""From what was paid, cause by cause, to what would have been paid with every break mended."""

from decimal import Decimal

from msgspec import Struct

from hitledger.results import Audit
from hitledger_reports import figures
from hitledger_reports.shown import shown
from hitledger_reports.view.groups import causes, total
from hitledger_reports.view.paths import WIDTH, rectangles, scaled

CAUSES = 12


class Step(Struct, frozen=True):
    """One bar: `style` is paid, lost or mended."""

    label: str
    value: str
    note: str
    style: str
    path: str


def waterfall(audit: Audit) -> tuple[Step, ...]:
    """Bars from top to bottom, empty where nothing has a price. Causes after the dearest twelve are one bar."""
    whole = total(audit)
    if not whole.cost or whole.break_cost is None:
        return ()
    bill = whole.cost_certainty
    steps = [Step("Paid", figures.usd(whole.cost, bill), "", "paid", rectangles([(0, WIDTH)], 0, 10))]
    left, priced = whole.cost, [item for item in causes(audit.breaks).items() if item[1].break_cost]
    for name, group in priced[:CAUSES]:
        lost = group.break_cost or Decimal(0)
        note = figures.plural(group.breaks, "break")
        steps.append(_lost(shown(name), "−" + figures.usd(lost, group.loss_certainty), note, left, lost, whole.cost))
        left -= lost
    rest = sum((group.break_cost or Decimal(0) for _, group in priced[CAUSES:]), Decimal(0))
    if rest:
        label = figures.plural(len(priced) - CAUSES, "other cause")
        steps.append(_lost(label, "−" + figures.usd(rest, whole.loss_certainty), "", left, rest, whole.cost))
        left -= rest
    end = rectangles([(0, _at(left, whole.cost))], 0, 10)
    both = figures.weakest((bill, whole.loss_certainty))
    return (*steps, Step("With every break mended", figures.usd(left, both), "", "mended", end))


def _lost(label: str, value: str, note: str, left: Decimal, lost: Decimal, most: Decimal) -> Step:
    start, end = _at(left - lost, most), _at(left, most)
    return Step(label, value, note, "lost", rectangles([(min(start, end - 3), end)], 0, 10))


def _at(value: Decimal, most: Decimal) -> int:
    return scaled(float(value), float(most))
