"""What was paid and what was lost, day by day (UTC)."""

from msgspec import Struct

from hitledger.results import Audit
from hitledger_reports import figures
from hitledger_reports.view.by import By
from hitledger_reports.view.groups import sums
from hitledger_reports.view.paths import WIDTH, columns, scaled

HEIGHT = 120


class Day(Struct, frozen=True):
    """One day: its bars and what they say."""

    left: int
    width: int
    kept: str
    lost: str
    text: str


class Trend(Struct, frozen=True):
    """Bars of all days that have calls; `most` is what the full height stands for."""

    days: tuple[Day, ...]
    first: str
    last: str
    most: str


def trend(audit: Audit) -> Trend | None:
    """None where there are fewer than two days or no price."""
    groups = {name: group for name, group in sums(audit, By.DAY).items() if name != "undated"}
    dearest = max(groups.values(), key=lambda group: group.cost or 0, default=None)
    if len(groups) < 2 or dearest is None or not dearest.cost:
        return None
    most = dearest.cost
    days: list[Day] = []
    for number, (name, group) in enumerate(groups.items()):
        left, right = number * WIDTH // len(groups), (number + 1) * WIDTH // len(groups)
        inner = (left, max(right - max((right - left) // 6, 1), left + 1))
        paid = scaled(float(group.cost or 0), float(most), HEIGHT)
        lost = scaled(float(group.break_cost or 0), float(most), HEIGHT)
        text = f"{name}: {figures.usd(group.cost, group.cost_certainty)} paid, {figures.usd(group.break_cost, group.loss_certainty)} lost"
        days.append(
            Day(
                left,
                right - left,
                columns([(*inner, HEIGHT - paid + lost, HEIGHT)]),
                columns([(*inner, HEIGHT - paid, HEIGHT - paid + lost)]) if lost else "",
                f"{text}, {figures.plural(group.calls, 'call')}, {figures.share(group.hit_rate)} read",
            )
        )
    names = list(groups)
    return Trend(tuple(days), names[0], names[-1], figures.usd(most, dearest.cost_certainty))
