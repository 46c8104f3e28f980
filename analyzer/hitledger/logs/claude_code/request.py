"""One request as its rows come in, and the call that it becomes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hitledger.logs.claude_code.blocks import THINKING, chars_of
from hitledger.logs.claude_code.figures import Figures, OtherFigures, usage_of
from hitledger.logs.claude_code.row import Entry
from hitledger.logs.claude_code.setting import Settings, provider_by
from hitledger.logs.claude_code.whole import whole_row
from hitledger.segments import Api
from hitledger.types import Call, Evidence, Place, Prompt, Usage

# An attribute of an enumeration is found slowly, and a plain string is hashed faster.
RECONSTRUCTED, MESSAGES = Evidence.RECONSTRUCTED, Api.MESSAGES.value
CHARS_PER_TOKEN = 4
# Some versions (2.1.9 to 2.1.25 always, others now and then) log the count of the stream's first event, 1 to 9 tokens.
PLACEHOLDER_MAX = 50
PLACEHOLDER_SHARE = 0.2  # less than this share of what the content comes to is no count of it
NO_USAGE = ("no_usage",)
START_ESTIMATED = ("start_estimated",)


class Request:
    """Rows with one (message.id, requestId): the prompt in front of them and what they add up to."""

    __slots__ = (
        *("copied", "events", "evidence", "figures", "first", "id", "line", "message", "number", "output"),
        *("parent_agent", "prompt", "read", "reason", "request", "rows", "started"),
    )

    def __init__(
        self, identifier: str, entry: Entry, prompt: Prompt, started: Any, parent: str, events: tuple[str, ...]
    ) -> None:
        self.number, row, _, _ = entry  # its first row
        message: Any = row.message
        self.id = identifier
        self.first = row
        self.message, self.request = message.id, row.requestId
        self.evidence, self.prompt = RECONSTRUCTED, prompt
        if message.content is UNSET:
            self.evidence, self.prompt = Evidence.USAGE_ONLY, Prompt(())
        self.started = started  # timestamp of the last input before it, else of its first row
        self.parent_agent = parent
        self.events = events
        self.copied = False  # another file has this call already
        self.rows: list[Entry] = []
        self.read = 0  # how many of the rows have been looked at
        self.figures: Figures | OtherFigures | None = None  # of the row with the most output tokens
        self.output = -1
        self.line = b""  # of that row
        self.reason: str | None = None

    def heard(self) -> Sequence[Sequence[Entry]]:
        """Rows that were not looked at yet: nearly always they follow each other, and are taken at once then."""
        rows = self.rows[self.read :] if self.read else self.rows
        if len(rows) > 1:
            content = rows[0][1].message.content  # type: ignore[union-attr]
            if rows[-1][0] - rows[0][0] >= len(rows) or not content or type(content) is not list:
                return [(entry,) for entry in rows]
        return (rows,) if rows else ()

    def add(self, entries: Sequence[Entry]) -> tuple[int, int]:
        """More rows of the answer. The prompt figures are the same on all of them, the output grows.

        Returns how many segments their content comes to, and how many of those are thinking.
        """
        count = thinking = 0
        most = self.output
        for _, row, line, _ in entries:
            message: Any = row.message
            content, figures = message.content, message.usage
            if type(content) is list:
                count += len(content)
                for block in content:
                    if block.type in THINKING:
                        thinking += 1
            elif type(content) is str:
                count += 1
            if figures is not None and figures.output_tokens >= most:
                most = figures.output_tokens
                self.figures, self.line = figures, line
            if message.diagnostics is not None:
                self.reason = miss_reason(message.diagnostics) or self.reason
        self.output = most
        self.read += len(entries)
        return count, thinking

    def close(self, settings: Settings) -> Call:
        """The answer is complete: the call that these rows are."""
        usage, notes = self._usage()
        started, ended = instant(self.started), instant(self.rows[-1][1].timestamp)
        if started is not None:
            notes += START_ESTIMATED
            if ended is not None and ended < started:
                started = ended
        first = self.first
        setting = settings.of(first, self.figures)
        call = Call(
            self.id,
            setting.session,
            settings.agent,
            Place(settings.file, self.number),
            provider_by(self.id, setting),
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
        if (
            first.costUSD is None and self.reason is None
        ):  # with these two among its arguments a call takes twice as long
            return call
        return replace(call, logged_cost=_money(first.costUSD), provider_reason=self.reason)

    def _usage(self) -> tuple[Usage | None, tuple[str, ...]]:
        """The usage that counts, and notes on it."""
        if self.figures is None:
            return None, NO_USAGE
        usage, notes = usage_of(self.figures, self.line)
        if usage is None or not usage.input_tokens:  # no prompt is empty: zeros are a count that was never made
            return None, notes + NO_USAGE
        if self.output <= PLACEHOLDER_MAX and usage.output_tokens is not None:
            written = sum([chars_of(_content(line)) for _, _, line, _ in self.rows]) / CHARS_PER_TOKEN
            if self.output < written * PLACEHOLDER_SHARE:
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
