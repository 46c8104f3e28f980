"""Everything the page shows, in the order it shows it, and a note wherever it shows less than the audit holds."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hitledger.columns import columns, grouped
from hitledger.measurement import Measurement
from hitledger.results import Audit, CallResult, SessionResult
from hitledger.stages import Progress
from hitledger_reports import figures
from hitledger_reports.view import tables
from hitledger_reports.view.break_pages import BreakPage, break_page
from hitledger_reports.view.by import By
from hitledger_reports.view.group_tables import group_table
from hitledger_reports.view.overview import Overview, overview
from hitledger_reports.view.session_pages import CALLS_A_PAGE, SessionPage, context, session_page
from hitledger_reports.view.sessions import SessionRow, by_loss, session_rows
from hitledger_reports.view.table import Cell, Column, Table, cells
from hitledger_reports.view.trend import Trend, trend
from hitledger_reports.view.waterfall import Step, waterfall

BREAK_PAGES = 60
SESSION_PAGES = 40
DETAILED_CALLS = 2_500  # strips in the whole file
TABLE_ROWS = 400


class TableView(Struct, frozen=True):
    """A table written out; `note` says how many rows it leaves out."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str


class SessionLink(Struct, frozen=True):
    """A session in the list; `page` is the number of its page, from 1, None without one."""

    row: SessionRow
    page: int | None


class Report(Struct, frozen=True):
    """The whole page."""

    overview: Overview
    waterfall: tuple[Step, ...]
    trend: Trend | None
    sums: tuple[TableView, ...]
    breaks: TableView
    sessions: tuple[SessionLink, ...]
    session_pages: tuple[SessionPage, ...]
    page_of_break: dict[int, int]  # rank of a break -> page of its session
    break_pages: tuple[BreakPage, ...]
    findings: TableView
    read: tuple[TableView, ...]  # ingest, skipped rows
    basis: tuple[TableView, ...]  # rules, prices
    notes: tuple[str, ...]
    legend: str


def report(
    audit: Audit,
    show_secrets: bool = False,
    progress: Progress | None = None,
    measurement: Measurement | None = None,
) -> Report:
    """Results -> view. Pages for the worst breaks and the sessions that lost most; the rest is summed up."""
    by_id = {call.id: call for call in audit.calls}
    known = context(audit, measurement)
    ordered = by_loss(audit)
    calls = _by_session(audit)
    paged = _paged(ordered, calls)
    paged_breaks = min(len(audit.breaks), BREAK_PAGES)
    number_of_pages = len(paged) + paged_breaks
    step = progress or (lambda done, pages: None)
    session_pages: list[SessionPage] = []
    for session in paged:
        session_pages.append(session_page(session, calls[session.id], known))
        step(len(session_pages), number_of_pages)
    break_pages: list[BreakPage] = []
    for number in range(1, paged_breaks + 1):
        break_pages.append(break_page(number, audit, by_id, known, paged_breaks, show_secrets))
        step(len(paged) + number, number_of_pages)
    rows = session_rows(audit, TABLE_ROWS)
    return Report(
        overview=overview(audit, measurement),
        waterfall=waterfall(audit),
        trend=trend(audit),
        sums=tuple(view(group_table(audit, by)) for by in By if by is not By.SESSION),
        breaks=view(tables.breaks(audit)),
        sessions=tuple(
            SessionLink(row, number if number <= len(paged) else None) for number, row in enumerate(rows, 1)
        ),
        session_pages=tuple(session_pages),
        page_of_break={rank: number for number, page in enumerate(session_pages, 1) for rank in page.ranks},
        break_pages=tuple(break_pages),
        findings=view(tables.findings(audit)),
        read=(view(tables.ingest(audit)), view(tables.skipped(audit))),
        basis=(view(tables.rules(audit)), view(tables.prices(audit))),
        notes=_notes(audit, len(paged), len(rows)),
        legend=figures.LEGEND,
    )


def view(table: Table) -> TableView:
    """A table written out, at most 400 rows of it."""
    rest = len(table.rows) - TABLE_ROWS
    note = f"and {figures.plural(rest, 'more row')}; hitledger report --csv writes all" if rest > 0 else ""
    return TableView(table.name, table.title, table.headings, cells(table, TABLE_ROWS), note)


def _by_session(audit: Audit) -> dict[str, Sequence[CallResult]]:
    none: dict[str, Sequence[CallResult]] = {session.id: () for session in audit.sessions}
    return none | dict(grouped(audit.calls, *columns(audit.calls, "session")))


def _paged(ordered: tuple[SessionResult, ...], calls: Mapping[str, Sequence[CallResult]]) -> tuple[SessionResult, ...]:
    """The sessions that get a page, within the limits of the file."""
    room = DETAILED_CALLS
    for number, session in enumerate(ordered[:SESSION_PAGES]):
        room -= min(len(calls[session.id]), CALLS_A_PAGE)
        if room < 0:
            return ordered[: max(number, 1)]
    return ordered[:SESSION_PAGES]


def _notes(audit: Audit, pages: int, rows: int) -> tuple[str, ...]:
    notes: list[str] = []
    if pages < len(audit.sessions):
        notes.append(
            f"{figures.plural(pages, 'session has', 'sessions have')} a page of their own: those that lost most; "
            f"the other {len(audit.sessions) - pages:,} are in the sums."
        )
    if rows < len(audit.sessions):
        notes.append(f"The list shows {rows:,} of {len(audit.sessions):,} sessions; hitledger report --csv writes all.")
    if len(audit.breaks) > BREAK_PAGES:
        notes.append(f"The worst {BREAK_PAGES} of {len(audit.breaks):,} breaks have a page; all are in the sums.")
    return tuple(notes)
