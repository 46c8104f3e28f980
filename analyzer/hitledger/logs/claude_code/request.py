"""One request as its rows come in, and the call that it becomes."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import replace

from hitledger.logs.claude_code.blocks import chars_of
from hitledger.logs.claude_code.figures import Figures, OtherFigures, plain_usage
from hitledger.logs.claude_code.row import Entry
from hitledger.logs.claude_code.setting import CLOUD_IDS, Settings, cloud_of
from hitledger.logs.claude_code.whole import whole_row
from hitledger.segments import Api
from hitledger.types import Call, Evidence, Place, Prompt, Usage
from hitledger.usage import read_usage

# A plain string is hashed faster than a member of an enumeration, whose attributes are found slowly, too.
MESSAGES = Api.MESSAGES.value
CHARS_PER_TOKEN = 4
# Some versions (2.1.9 to 2.1.25 always, others now and then) log the count of the stream's first event, 1 to 9 tokens.
PLACEHOLDER_MAX = 50
PLACEHOLDER_SHARE = 0.2  # less than this share of what the content comes to is no count of it
NO_USAGE = ("no_usage",)
START_ESTIMATED = ("start_estimated",)


class Request(msgspec.Struct, eq=False):
    """Rows with one (message.id, requestId) and the prompt in front of them."""

    id: str
    first: Entry
    message: Any  # its id
    request: Any  # its id, too
    prompt: Prompt
    evidence: Evidence
    started: Any  # timestamp of the last input before it, else of its first row
    parent_agent: str
    events: tuple[str, ...]
    rows: list[Entry]
    heard: int = 0  # how many of the rows stand in the prompt already
    copied: bool = False  # another file has this call already

    def close(self, settings: Settings) -> Call:
        """The answer is complete: the call that these rows are."""
        figures, line, reason = self._said()
        usage, notes = (None, NO_USAGE) if figures is None else self._usage(figures, line)
        started, ended = instant(self.started), instant(self.rows[-1][1].timestamp)
        if started is not None:
            notes += START_ESTIMATED
            if ended is not None and ended < started:
                started = ended
        number, first, _, _ = self.first
        setting = settings.of(first, figures)
        call = Call(
            self.id,
            setting.session,
            settings.agent,
            Place(settings.file, number),
            setting.provider if not self.id.startswith(CLOUD_IDS) else cloud_of(self.id),
            setting.model,
            self.evidence,
            self.prompt,
            MESSAGES,
            started_at=started,
            ended_at=ended,
            usage=usage,
            parameters=setting.parameters,
            events=self.events,
            purpose=settings.purpose,
            parent_agent=self.parent_agent,
            project=setting.project,
            tier=setting.tier,
            notes=notes,
        )
        if first.costUSD is None and reason is None:  # with two more arguments a call takes twice as long to make
            return call
        return replace(call, logged_cost=_money(first.costUSD), provider_reason=reason)

    def _said(self) -> tuple[Figures | OtherFigures | None, bytes, str | None]:
        """Usage and line of the row with the most output tokens, and why the provider says that it missed.

        The prompt figures are the same on all rows, the output grows.
        """
        most, figures, counted, reason = -1, None, b"", None
        for _, row, line, _ in self.rows:
            message: Any = row.message
            found = message.usage
            if found is not None and found.output_tokens >= most:
                most, figures, counted = found.output_tokens, found, line
            if message.diagnostics is not None:
                reason = miss_reason(message.diagnostics) or reason
        return figures, counted, reason

    def _usage(self, figures: Figures | OtherFigures, line: bytes) -> tuple[Usage | None, tuple[str, ...]]:
        """The usage of a row, and notes on it."""
        notes: tuple[str, ...] = ()
        usage = plain_usage(figures) if type(figures) is Figures else None
        if usage is None:  # anything needs deciding
            usage, notes = read_usage(whole_row(line)["message"]["usage"])
        if usage is None or not usage.input_tokens:  # no prompt is empty: zeros are a count that was never made
            return None, notes + NO_USAGE
        if 0 <= figures.output_tokens <= PLACEHOLDER_MAX and usage.output_tokens is not None:
            written = sum([chars_of(_content(line)) for _, _, line, _ in self.rows]) / CHARS_PER_TOKEN
            if figures.output_tokens < written * PLACEHOLDER_SHARE:
                estimated = replace(usage, output_tokens=round(written), output_estimated=True)
                return estimated, (*notes, "output_estimated")
        return usage, notes


def _content(line: bytes) -> Any:
    return whole_row(line)["message"].get("content")


def instant(stamp: Any) -> datetime | None:
    """A row's timestamp, None where it has none that can be read."""
    try:
        found = datetime.fromisoformat(stamp)
    except (TypeError, ValueError):
        return None
    if found.tzinfo is UTC:
        return found
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def miss_reason(diagnostics: Any) -> str | None:
    """The provider's own reason for a cache miss; None where it saw none."""
    reason = diagnostics.get("cache_miss_reason") if isinstance(diagnostics, dict) else None
    kind = reason.get("type") if isinstance(reason, dict) else reason
    return kind if isinstance(kind, str) and kind != "none" else None


def _money(cost: Any) -> Decimal | None:
    """The cost that versions before 1.0.9 logged, in USD."""
    return Decimal(str(cost)) if type(cost) in (int, float) and cost > 0 else None
