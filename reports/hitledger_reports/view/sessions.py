"""Sessions as rows, dearest losses first, each with its heat strip."""

from dataclasses import dataclass

from hitledger.results import Audit, CallResult, SessionResult
from hitledger_reports import figures
from hitledger_reports.shown import shown
from hitledger_reports.view.heat import HeatCell, heat

STRIP = 76


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session in a list."""

    name: str
    project: str
    calls: str
    agents: str
    period: str
    models: str
    input: str
    hit_rate: str
    cost: str
    lost: str
    breaks: str
    heat: tuple[HeatCell, ...]


def by_loss(audit: Audit) -> tuple[SessionResult, ...]:
    """Sessions, most money lost to breaks first."""
    return tuple(
        sorted(audit.sessions, key=lambda one: (-(one.break_cost or 0), -one.breaks, -(one.cost or 0), one.id))
    )


def session_rows(audit: Audit, limit: int | None = None) -> tuple[SessionRow, ...]:
    """The `limit` sessions that lost most."""
    chosen = by_loss(audit)[:limit]
    calls: dict[str, list[CallResult]] = {session.id: [] for session in chosen}
    for call in audit.calls:
        if call.session in calls:
            calls[call.session].append(call)
    broken = frozenset(found.call for found in audit.breaks)
    return tuple(_row(session, calls[session.id], broken) for session in chosen)


def _row(session: SessionResult, calls: list[CallResult], broken: frozenset[str]) -> SessionRow:
    return SessionRow(
        name=shown(session.id),
        project=shown(session.project),
        calls=figures.plural(session.calls, "call"),
        agents=figures.plural(len(session.agents), "agent"),
        period=f"{figures.utc(session.started_at, seconds=False)} to {figures.utc(session.ended_at, seconds=False)}",
        models=", ".join(shown(model) for model in session.models),
        input=figures.short(session.input_tokens),
        hit_rate=figures.share(session.hit_rate),
        cost=figures.usd(session.cost),
        lost=figures.usd(session.break_cost) if session.breaks else "$0",
        breaks=figures.plural(session.breaks, "break"),
        heat=heat(calls, broken, STRIP),
    )
