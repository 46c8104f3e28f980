"""A session call by call: one strip a call, a lane an agent, pauses to scale, breaks flagged."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from msgspec import Struct

from hitledger.measurement import CallMeasurement, Measurement
from hitledger.results import Audit, CallResult, SessionResult
from hitledger_reports import figures
from hitledger_reports.shown import shown
from hitledger_reports.view.cumulative import Cumulative, cumulative
from hitledger_reports.view.gaps import Gap, gap
from hitledger_reports.view.groups import sure
from hitledger_reports.view.measured import measured_calls, measured_text
from hitledger_reports.view.prompts import Prompts
from hitledger_reports.view.shared_bands import Drawing, Shown, shared_bands
from hitledger_reports.view.strips import Band, legend, usage_bands

CALLS_A_PAGE = 400
NEIGHBOURS = 2


class Flag(Struct, frozen=True):
    """A break at a call: its rank, and its cause."""

    number: int
    cause: str


class CallRow(Struct, frozen=True):
    """One call. `left_out` > 0: a run of that many calls that are not drawn."""

    id: int  # place in the input, unique in the file
    number: str
    started: str
    gap: Gap
    usage: tuple[Band, ...]
    kinds: Shown | None
    read: str
    cost: str
    details: str
    flag: Flag | None
    calm: bool = False  # far from every break of its lane, in a lane that has one
    left_out: int = 0


class Lane(Struct, frozen=True):
    """The calls of one agent."""

    name: str
    note: str
    rows: tuple[CallRow, ...]
    drawings: tuple[Drawing, ...]


class SessionPage(Struct, frozen=True):
    """One session in detail."""

    name: str
    summary: str
    period: str
    most: str  # tokens that the whole width stands for
    scale: int  # the same for the script that zooms
    kinds: tuple[tuple[str, str], ...]  # that occur: class of the style sheet, words
    lanes: tuple[Lane, ...]
    money: Cumulative | None
    left_out: int
    breaks: tuple[tuple[Flag, int], ...]  # the worst break of each cause, and how many the cause has
    ranks: tuple[int, ...]  # of all breaks of the session


class Context(Struct, frozen=True):
    """What every page needs: prompts, and the breaks by call."""

    prompts: Prompts
    flags: Mapping[str, Flag]
    lost: Mapping[str, Decimal]
    measured: Mapping[str, CallMeasurement]


def context(audit: Audit, measurement: Measurement | None = None) -> Context:
    """Lookups over the whole audit."""
    return Context(
        Prompts({call.id: call for call in audit.calls}),
        {found.call: Flag(number, shown(found.cause)) for number, found in enumerate(audit.breaks, 1)},
        {found.call: found.cost for found in audit.breaks if found.cost is not None},
        measured_calls(audit, measurement),
    )


def session_page(session: SessionResult, calls: Sequence[CallResult], known: Context) -> SessionPage:
    """`calls` are those of the session, in order."""
    most = max((call.input_tokens or 0 for call in calls), default=0)
    drawn = _drawn(calls, known.flags)
    bill = figures.weakest(sure(call, "cost") for call in calls)
    lanes: list[Lane] = []
    for agent in dict.fromkeys(call.agent for call in calls):
        first = sum(len(lane.drawings) for lane in lanes)
        lanes.append(_lane(agent, [call for call in calls if call.agent == agent], drawn, most, known, first))
    flags = sorted((known.flags[call.id] for call in calls if call.id in known.flags), key=lambda flag: flag.number)
    by_cause: dict[str, list[Flag]] = {}
    for flag in flags:
        by_cause.setdefault(flag.cause, []).append(flag)
    dated = sorted(calls, key=lambda call: (call.started_at is None, call.started_at and call.started_at.timestamp()))
    return SessionPage(
        name=shown(session.id),
        summary=(
            f"{figures.plural(session.calls, 'call')}, {_reads(session)}, {figures.usd(session.cost, bill)} paid, "
            f"{figures.plural(session.breaks, 'break')}"
        ),
        period=_period(session),
        most=figures.count(most),
        scale=most,
        kinds=legend(band for lane in lanes for drawing in lane.drawings for band in drawing.bands),
        lanes=tuple(lanes),
        money=cumulative(dated, known.lost),
        left_out=len(calls) - len(drawn),
        breaks=tuple((marks[0], len(marks)) for marks in by_cause.values()),
        ranks=tuple(flag.number for flag in flags),
    )


def _reads(session: SessionResult) -> str:
    if session.hit_rate is None:
        return "no call reports reads"
    return f"{figures.share(session.hit_rate)} of {figures.short(session.input_tokens)} input tokens read"


def _period(session: SessionResult) -> str:
    if session.started_at is None:
        return "no times in the log"
    return f"{figures.utc(session.started_at)} to {figures.utc(session.ended_at)} UTC"


def _drawn(calls: Sequence[CallResult], flags: Mapping[str, Flag]) -> frozenset[str]:
    """The calls that get a strip: all, or else breaks with their neighbours, worst first, and then from the start."""
    if len(calls) <= CALLS_A_PAGE:
        return frozenset(call.id for call in calls)
    places = sorted((flags[call.id].number, place) for place, call in enumerate(calls) if call.id in flags)
    wanted = [near for _, place in places for near in range(place - NEIGHBOURS, place + NEIGHBOURS + 1)]
    order = dict.fromkeys(place for place in (*wanted, *range(len(calls))) if 0 <= place < len(calls))
    return frozenset(calls[place].id for place in list(order)[:CALLS_A_PAGE])


def _lane(
    agent: str, calls: Sequence[CallResult], drawn: frozenset[str], most: int, known: Context, first: int
) -> Lane:
    parent = next((call.parent_agent for call in calls if call.parent_agent), "")
    note = figures.plural(len(calls), "call") + (f", started by {shown(parent)}" if parent else "")
    drawings, kinds = shared_bands([call for call in calls if call.id in drawn], most, known.prompts, first)
    calm = _calm(calls, known.flags)
    rows: list[CallRow] = []
    for is_drawn, run in groupby(calls, key=lambda call: call.id in drawn):
        some = list(run)
        drawn_rows = [_row(call, most, kinds.get(call.id), known, call.id in calm) for call in some if is_drawn]
        rows += drawn_rows or [_run(some)]
    return Lane(shown(agent), note, tuple(rows), drawings)


def _calm(calls: Sequence[CallResult], flags: Mapping[str, Flag]) -> frozenset[str]:
    """Calls that are no break and no neighbour of one."""
    near = {
        calls[place].id
        for broken in (place for place, call in enumerate(calls) if call.id in flags)
        for place in range(max(broken - NEIGHBOURS, 0), min(broken + NEIGHBOURS + 1, len(calls)))
    }
    return frozenset(call.id for call in calls if near and call.id not in near)


def _run(calls: Sequence[CallResult]) -> CallRow:
    tokens = sum(call.input_tokens or 0 for call in calls)
    read = sum(call.cache_read_tokens or 0 for call in calls)
    share = figures.share(read / tokens if tokens else None)
    return CallRow(calls[0].index, "", "", gap(None, None), (), None, share, "", "", None, left_out=len(calls))


def _row(call: CallResult, most: int, kinds: Shown | None, known: Context, calm: bool) -> CallRow:
    read = call.cache_read_tokens
    share = read / call.input_tokens if read is not None and call.input_tokens else None
    return CallRow(
        id=call.index,
        number=f"{call.index_in_session:,}",
        started=figures.utc(call.started_at),
        gap=gap(call.gap_seconds, call.ttl),
        usage=usage_bands(call, most),
        kinds=kinds,
        read=figures.share(share),
        cost=figures.usd(call.cost, sure(call, "cost")),
        details="; ".join(part for part in (_details(call), measured_text(call.id, known.measured)) if part),
        flag=known.flags.get(call.id),
        calm=calm,
    )


def _details(call: CallResult) -> str:
    if call.status >= 400:
        return f"refused with status {call.status}"
    parts = [
        f"{figures.count(call.input_tokens)} input",
        f"{figures.count(call.cache_read_tokens)} read",
        f"{figures.count(call.cache_write_tokens)} written",
        f"{figures.count(call.uncached_input_tokens)} uncached",
        f"ideal {_sure(call, 'ideal_cache_read_tokens')}",
        f"expected {_sure(call, 'expected_cache_read_tokens')}",
        f"{_sure(call, 'output_tokens')} output",
    ]
    words = ", ".join(shown(event).replace("_", " ") for event in call.events)
    events = f"; just before: {words}" if words else ""
    return f"{', '.join(parts)}; {shown(call.model)}{events}"


def _sure(call: CallResult, field: str) -> str:
    value: int | None = getattr(call, field)
    return figures.count(value, sure(call, field))
