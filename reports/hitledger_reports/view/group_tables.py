"""Tables of sums: by cause, day, model, session, project and agent."""

from hitledger.results import Audit
from hitledger_reports.shown import shown
from hitledger_reports.view.by import By
from hitledger_reports.view.groups import Sum, causes, sums
from hitledger_reports.view.table import Column, Field, Table, Unit

TITLES = {
    By.CAUSE: "By cause",
    By.DAY: "By day (UTC)",
    By.MODEL: "By model",
    By.SESSION: "By session",
    By.PROJECT: "By project",
    By.AGENT: "By agent",
}
_CALL_FIELDS: tuple[Field[Sum], ...] = (
    (Column("calls", "Calls", Unit.COUNT), lambda group: group.calls),
    (Column("input_tokens", "Input", Unit.TOKENS), lambda group: group.input_tokens),
    (Column("cache_read_tokens", "Read", Unit.TOKENS), lambda group: group.cache_read_tokens),
    (Column("cache_write_tokens", "Written", Unit.TOKENS), lambda group: group.cache_write_tokens),
    (Column("uncached_input_tokens", "Uncached", Unit.TOKENS), lambda group: group.uncached_input_tokens),
    (Column("output_tokens", "Output", Unit.TOKENS, sure="output_certainty"), lambda group: group.output_tokens),
    (Column("hit_rate", "Hit rate", Unit.SHARE), lambda group: group.hit_rate),
    (Column("cost_usd", "Paid", Unit.USD, sure="cost_certainty"), lambda group: group.cost),
    (Column("unpriced_calls", "", Unit.COUNT), lambda group: group.unpriced),
    (Column("output_certainty", ""), lambda group: group.output_certainty.value),
    (Column("cost_certainty", ""), lambda group: group.cost_certainty.value),
)
_BREAK_FIELDS: tuple[Field[Sum], ...] = (
    (Column("breaks", "Breaks", Unit.COUNT), lambda group: _seen(group, group.breaks)),
    (Column("lost_tokens", "Lost", Unit.TOKENS, sure="certainty"), lambda group: _seen(group, group.lost_tokens)),
    (
        Column("rebilled_tokens", "Rebilled", Unit.TOKENS, sure="certainty"),
        lambda group: _seen(group, group.rebilled_tokens),
    ),
    (Column("break_cost_usd", "Lost money", Unit.USD, sure="loss_certainty"), lambda group: group.loss),
    (Column("certainty", ""), lambda group: group.certainty.value),
    (Column("loss_certainty", ""), lambda group: group.loss_certainty.value),
)


def _seen(group: Sum, figure: int) -> int | None:
    """A figure of breaks; None where none could have been seen."""
    return figure if group.breaks or group.judged else None


def group_table(audit: Audit, by: By) -> Table:
    """The sums of one grouping as a table."""
    first = Column(by.value, TITLES[by].removeprefix("By ").capitalize().replace("(utc)", "(UTC)"))
    groups = causes(audit.breaks) if by is By.CAUSE else sums(audit, by)
    fields = _BREAK_FIELDS if by is By.CAUSE else (*_CALL_FIELDS, *_BREAK_FIELDS)
    return Table(
        f"by_{by.value}",
        TITLES[by],
        (first, *(column for column, _ in fields)),
        tuple((shown(name), *(value(group) for _, value in fields)) for name, group in groups.items()),
    )
