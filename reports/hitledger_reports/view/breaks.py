"""A break written out: place, cause, what changed, tokens, money and the fix."""

import re

from msgspec import Struct

from hitledger.causes.catalogue import catalogue
from hitledger.columns import columns
from hitledger.results import Audit, Break, CallResult
from hitledger.types import Certainty
from hitledger_reports import figures
from hitledger_reports.shown import PATH, PROSE, shown
from hitledger_reports.view.excerpt import Excerpt, excerpt
from hitledger_reports.view.groups import cost_sure, sure

NO_PLACE = "(none)"  # the path of a break whose payload is append-only
_ROW = re.compile(r"\[(\d{1,12})\]\.?(.*)", re.DOTALL)


class BreakView(Struct, frozen=True):
    """One break. `number` is its rank, worst first, from 1."""

    number: int
    cause: str
    what: str  # the cause in a sentence, "" for a code without an entry in the catalogue
    confidence: str
    session: str
    agent: str
    call: str  # "call 12" within its session, from 0
    started: str
    gap: str
    lifetime: str
    model: str
    place: str
    offset: str
    readable_before: str
    read: str
    lost: str
    rebilled: str
    cost: str
    excerpt: Excerpt
    provider: str
    note: str
    fix: str

    def when(self, call_before: str = "") -> str:
        """Start and pause in words, as far as the log has them. `call_before`: what the pause is counted from."""
        parts = [
            "at an unknown time" if self.started == figures.UNKNOWN else f"{self.started} UTC",
            f"{self.gap} after {call_before}" if call_before and self.gap != figures.UNKNOWN else "",
        ]
        return ", ".join(part for part in parts if part)


def break_views(audit: Audit, limit: int | None = None, show_secrets: bool = False) -> tuple[BreakView, ...]:
    """The worst `limit` breaks."""
    listed = audit.breaks[:limit]
    wanted = {found.call for found in listed}
    (ids,) = columns(audit.calls, "id")
    calls = {call: audit.calls[index] for index, call in enumerate(ids) if call in wanted}
    return tuple(
        break_view(number, found, calls.get(found.call), show_secrets) for number, found in enumerate(listed, 1)
    )


def break_view(number: int, found: Break, call: CallResult | None, show_secrets: bool = False) -> BreakView:
    """One break; `call` is the call that it befell."""
    counted, entry = found.certainty, catalogue().get(found.cause)
    return BreakView(
        number=number,
        cause=shown(found.cause),
        what=entry.what if entry else "",
        confidence=shown(found.confidence),
        session=shown(found.session),
        agent=shown(found.agent),
        call=f"call {found.index_in_session:,}",
        started=figures.utc(call.started_at if call else None),
        gap=figures.duration(call.gap_seconds if call else None),
        lifetime=shown(call.ttl) if call and call.ttl else figures.UNKNOWN,
        model=shown(call.model) if call else figures.UNKNOWN,
        place=place(found.path),
        offset=_offset(found, sure(call, "segments") if call else found.certainty),
        readable_before=figures.count(found.readable_before, counted),
        read=figures.count(call.cache_read_tokens if call else None),
        lost=figures.count(found.lost_tokens, counted),
        rebilled=figures.count(found.rebilled_tokens, counted),
        cost=figures.usd(found.cost, cost_sure(found)),
        excerpt=excerpt(found.before, found.after, show_secrets),
        provider=_provider(found),
        note=shown(found.note, PROSE),
        fix=shown(found.fix, PROSE),
    )


def place(path: str) -> str:
    """A JSON path in words; in a transcript it begins with the row, which people count from 1."""
    if path == NO_PLACE:
        return "nothing changed in the prompt as logged"
    row = _ROW.fullmatch(path)
    if row is None:
        return shown(path, PATH)
    return f"row {int(row[1]) + 1:,}" + (f", {shown(row[2], PATH)}" if row[2] else "")


def _offset(found: Break, counted: Certainty) -> str:
    parts = [
        f"character {found.char_offset:,}" if found.char_offset is not None else "",
        f"token {figures.count(found.token_offset, counted)}" if found.token_offset is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def _provider(found: Break) -> str:
    if found.provider_reason is None:
        return ""
    verdict = {True: "agrees", False: "disagrees with us", None: "cannot be compared"}[found.agrees_with_provider]
    return f"{shown(found.provider_reason, PATH)} ({verdict})"
