"""The bill of a session growing call by call, with and without its breaks."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from hitledger.results import CallResult
from hitledger_reports import figures
from hitledger_reports.view.groups import sure
from hitledger_reports.view.paths import WIDTH, line, scaled

HEIGHT = 120
POINTS = 250


class Cumulative(Struct, frozen=True):
    """Two lines of SVG path data and their ends written out."""

    paid: str
    mended: str
    paid_end: str
    mended_end: str


def cumulative(calls: Sequence[CallResult], lost: Mapping[str, Decimal]) -> Cumulative | None:
    """`calls` in order of time; `lost` is the money of the breaks by call. None where nothing has a price."""
    paid, mended = [Decimal(0)], [Decimal(0)]
    for call in calls:
        cost = call.cost or Decimal(0)
        paid.append(paid[-1] + cost)
        mended.append(mended[-1] + cost - lost.get(call.id, Decimal(0)))
    if not paid[-1]:
        return None
    step = max(1, len(calls) // POINTS)
    shown = sorted({*range(0, len(paid), step), len(paid) - 1})
    most = float(paid[-1])

    def path(values: Sequence[Decimal]) -> str:
        return line([(n * WIDTH // len(calls), HEIGHT - scaled(float(values[n]), most, HEIGHT)) for n in shown])

    bill = figures.weakest(sure(call, "cost") for call in calls)
    return Cumulative(path(paid), path(mended), figures.usd(paid[-1], bill), figures.usd(mended[-1], bill))
