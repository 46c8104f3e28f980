"""Sessions as rows, dearest losses first, each with its heat strip."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from hitledger.columns import columns, groups, part
from hitledger.results import Audit, CallResult, SessionResult
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.shown import shown
from hitledger_reports.view.groups import cost_sure, sure
from hitledger_reports.view.heat import HeatCell, HeatStrip, heat, heat_strip
from hitledger_reports.view.table import Cell, sort_key

STRIP = 76


class SessionRow(Struct, frozen=True):
    """One session in a list."""

    name: str
    project: str
    started: str
    calls: Cell
    hit_rate: Cell
    cost: Cell
    lost: Cell
    breaks: str
    heat: tuple[HeatCell, ...]
    strip: HeatStrip


def by_loss(audit: Audit) -> tuple[SessionResult, ...]:
    """Sessions, most money lost to breaks first."""
    return tuple(
        sorted(audit.sessions, key=lambda one: (-(one.break_cost or 0), -one.breaks, -(one.cost or 0), one.id))
    )


def session_rows(audit: Audit, limit: int | None = None) -> tuple[SessionRow, ...]:
    """The `limit` sessions that lost most."""
    chosen = by_loss(audit)[:limit]
    (sessions,) = columns(audit.calls, "session")
    calls = groups(sessions)
    broken = {found.call: cost_sure(found) for found in audit.breaks}
    return tuple(_row(session, part(audit.calls, calls.get(session.id, ())), broken) for session in chosen)


def _row(session: SessionResult, calls: Sequence[CallResult], broken: Mapping[str, Certainty]) -> SessionRow:
    cells = heat(calls, broken, STRIP)
    judged = any(call.ideal_cache_read_tokens is not None for call in calls)
    lost = session.break_cost if session.breaks or not judged else Decimal(0)
    certainty = figures.weakest(broken[call.id] for call in calls if call.id in broken)
    return SessionRow(
        name=shown(session.id),
        project=shown(session.project),
        started=figures.utc(session.started_at, seconds=False),
        calls=Cell(figures.plural(session.calls, "call"), sort_key(session.calls)),
        hit_rate=Cell(figures.share(session.hit_rate), sort_key(session.hit_rate)),
        cost=Cell(
            figures.usd(session.cost, figures.weakest(sure(call, "cost") for call in calls)), sort_key(session.cost)
        ),
        lost=Cell(figures.usd(lost, certainty), sort_key(lost)),
        breaks=figures.plural(session.breaks, "break") if session.breaks or judged else "not judged",
        heat=cells,
        strip=heat_strip(cells),
    )
