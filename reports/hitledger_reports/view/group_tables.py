"""Tables of sums: by cause, day, model, session, project and agent."""

from hitledger.results import Audit
from hitledger_reports.shown import shown
from hitledger_reports.view.by import By
from hitledger_reports.view.groups import Sum, causes, sums
from hitledger_reports.view.table import Column, Table, Unit, Value

TITLES = {
    By.CAUSE: "By cause",
    By.DAY: "By day (UTC)",
    By.MODEL: "By model",
    By.SESSION: "By session",
    By.PROJECT: "By project",
    By.AGENT: "By agent",
}
_CALL_COLUMNS = (
    Column("calls", "Calls", Unit.COUNT),
    Column("input_tokens", "Input", Unit.TOKENS),
    Column("cache_read_tokens", "Read", Unit.TOKENS),
    Column("cache_write_tokens", "Written", Unit.TOKENS),
    Column("uncached_input_tokens", "Uncached", Unit.TOKENS),
    Column("output_tokens", "Output", Unit.TOKENS, sure="output_certainty"),
    Column("hit_rate", "Hit rate", Unit.SHARE),
    Column("cost_usd", "Paid", Unit.USD, sure="cost_certainty"),
    Column("unpriced_calls", "", Unit.COUNT),
    Column("output_certainty", ""),
    Column("cost_certainty", ""),
)
_BREAK_COLUMNS = (
    Column("breaks", "Breaks", Unit.COUNT),
    Column("lost_tokens", "Lost", Unit.TOKENS, sure="certainty"),
    Column("rebilled_tokens", "Rebilled", Unit.TOKENS, sure="certainty"),
    Column("break_cost_usd", "Lost money", Unit.USD, sure="certainty"),
    Column("certainty", ""),
)


def group_table(audit: Audit, by: By) -> Table:
    """The sums of one grouping as a table."""
    first = Column(by.value, TITLES[by].removeprefix("By ").capitalize().replace("(utc)", "(UTC)"))
    if by is By.CAUSE:
        return Table(
            "by_cause",
            TITLES[by],
            (first, *_BREAK_COLUMNS),
            tuple((shown(cause), *_break_values(group)) for cause, group in causes(audit.breaks).items()),
        )
    return Table(
        f"by_{by.value}",
        TITLES[by],
        (first, *_CALL_COLUMNS, *_BREAK_COLUMNS),
        tuple((shown(name), *_call_values(group), *_break_values(group)) for name, group in sums(audit, by).items()),
    )


def _break_values(group: Sum) -> tuple[Value, ...]:
    unseen = not group.breaks and not group.judged
    lost, rebilled = (None, None) if unseen else (group.lost_tokens, group.rebilled_tokens)
    return None if unseen else group.breaks, lost, rebilled, group.loss, group.certainty.value


def _call_values(group: Sum) -> tuple[Value, ...]:
    return (
        group.calls,
        group.input_tokens,
        group.cache_read_tokens,
        group.cache_write_tokens,
        group.uncached_input_tokens,
        group.output_tokens,
        group.hit_rate,
        group.cost,
        group.unpriced,
        group.output_certainty.value,
        group.cost_certainty.value,
    )
