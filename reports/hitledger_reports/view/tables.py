"""Every table of an audit, row for row: each column with its value beside it."""

from hitledger.results import Audit, Break, CallResult, FileIngest, Finding, PriceUsed, RuleUsed
from hitledger_reports.shown import EXCERPT, NAME, PATH, PROSE, shown
from hitledger_reports.view.breaks import place
from hitledger_reports.view.by import By
from hitledger_reports.view.group_tables import group_table
from hitledger_reports.view.groups import cost_sure
from hitledger_reports.view.segment_table import segments
from hitledger_reports.view.table import Column, Field, Table, Unit, table_of


def every_table(audit: Audit, show_secrets: bool = False) -> tuple[Table, ...]:
    """All tables, sums first."""
    return (
        *(group_table(audit, by) for by in By),
        breaks(audit, show_secrets),
        findings(audit),
        calls(audit),
        segments(audit),
        ingest(audit),
        skipped(audit),
        rules(audit),
        prices(audit),
    )


def breaks(audit: Audit, show_secrets: bool = False) -> Table:
    """Breaks, worst first."""

    def excerpt(text: str | None) -> str | None:
        return None if text is None else shown(text, EXCERPT, show_secrets)

    fields: tuple[Field[Break], ...] = (
        (Column("cause", "Cause"), lambda found: shown(found.cause)),
        (Column("cost_usd", "Lost money", Unit.USD, sure="cost_certainty"), lambda found: found.cost),
        (Column("rebilled_tokens", "Rebilled", Unit.TOKENS, sure="certainty"), lambda found: found.rebilled_tokens),
        (Column("lost_tokens", "", Unit.TOKENS, sure="certainty"), lambda found: found.lost_tokens),
        (Column("readable_before", "", Unit.TOKENS, sure="certainty"), lambda found: found.readable_before),
        (Column("certainty", ""), lambda found: found.certainty.value),
        (Column("cost_certainty", ""), lambda found: cost_sure(found).value),
        (Column("confidence", ""), lambda found: shown(found.confidence)),
        (Column("place", "Place"), lambda found: place(found.path)),
        (Column("path", ""), lambda found: shown(found.path, PATH)),
        (Column("char_offset", "", Unit.COUNT), lambda found: found.char_offset),
        (Column("token_offset", "", Unit.TOKENS), lambda found: found.token_offset),
        (Column("before", ""), lambda found: excerpt(found.before)),
        (Column("after", ""), lambda found: excerpt(found.after)),
        (Column("provider_reason", ""), lambda found: _shown(found.provider_reason, PATH)),
        (Column("fix", "Fix"), lambda found: shown(found.fix, PROSE)),
        (Column("session", "Session"), lambda found: shown(found.session)),
        (Column("index_in_session", "Call", Unit.COUNT), lambda found: found.index_in_session),
        (Column("call", ""), lambda found: shown(found.call)),
        (Column("agent", ""), lambda found: shown(found.agent)),
        (Column("index", "", Unit.COUNT), lambda found: found.index),
    )
    return table_of("breaks", "Breaks", fields, audit.breaks)


def findings(audit: Audit) -> Table:
    """Problems that are no breaks."""
    fields: tuple[Field[Finding], ...] = (
        (Column("call", ""), lambda found: shown(found.call)),
        (Column("index", "Call", Unit.COUNT), lambda found: found.index),
        (Column("cause", "Cause"), lambda found: shown(found.cause)),
        (Column("confidence", "Confidence"), lambda found: shown(found.confidence)),
        (Column("place", "Place"), lambda found: place(found.path)),
        (Column("path", ""), lambda found: shown(found.path, PATH)),
        (Column("note", "What was seen"), lambda found: shown(found.note, PROSE)),
        (Column("fix", "Fix"), lambda found: shown(found.fix, PROSE)),
    )
    return table_of("findings", "Findings that are no breaks", fields, audit.findings)


def calls(audit: Audit) -> Table:
    """Every call with its columns; for machines."""
    fields: tuple[Field[CallResult], ...] = (
        (Column("id", "Call"), lambda call: shown(call.id)),
        (Column("session", "Session"), lambda call: shown(call.session)),
        (Column("agent", "Agent"), lambda call: shown(call.agent)),
        (Column("project", "Project"), lambda call: shown(call.project)),
        (Column("file", "File"), lambda call: shown(call.file, PATH)),
        (Column("row", "Row", Unit.COUNT), lambda call: call.row),
        (Column("index", "Index", Unit.COUNT), lambda call: call.index),
        (Column("index_in_session", "In session", Unit.COUNT), lambda call: call.index_in_session),
        (Column("compared_with", "Compared with"), lambda call: _shown(call.compared_with)),
        (Column("started_at", "Started (UTC)", Unit.TIME), lambda call: call.started_at),
        (Column("gap_seconds", "Gap", Unit.SECONDS), lambda call: call.gap_seconds),
        (Column("provider", "Provider"), lambda call: shown(call.provider)),
        (Column("model", "Model"), lambda call: shown(call.model)),
        (Column("evidence", "Evidence"), lambda call: call.evidence.value),
        (Column("status", "Status", Unit.COUNT), lambda call: call.status),
        (Column("ttl", "Lifetime"), lambda call: _shown(call.ttl)),
        (Column("input_tokens", "Input", Unit.TOKENS), lambda call: call.input_tokens),
        (Column("uncached_input_tokens", "Uncached", Unit.TOKENS), lambda call: call.uncached_input_tokens),
        (Column("cache_read_tokens", "Read", Unit.TOKENS), lambda call: call.cache_read_tokens),
        (Column("cache_write_tokens", "Written", Unit.TOKENS), lambda call: call.cache_write_tokens),
        (Column("output_tokens", "Output", Unit.TOKENS), lambda call: call.output_tokens),
        (Column("ideal_cache_read_tokens", "Ideal read", Unit.TOKENS), lambda call: call.ideal_cache_read_tokens),
        (
            Column("expected_cache_read_tokens", "Expected read", Unit.TOKENS),
            lambda call: call.expected_cache_read_tokens,
        ),
        (Column("cost_usd", "Paid", Unit.USD), lambda call: call.cost),
        (Column("cost_source", "Cost from"), lambda call: _shown(call.cost_source)),
        (
            Column("certainties", "Not exact"),
            lambda call: "; ".join(
                f"{shown(name)} {certainty.value}" for name, certainty in sorted(call.certainty.items())
            ),
        ),
    )
    return table_of("calls", "Calls", fields, audit.calls)


def ingest(audit: Audit) -> Table:
    """What became of each file's rows."""
    fields: tuple[Field[FileIngest], ...] = (
        (Column("file", "File"), lambda file: shown(file.file, PATH)),
        (Column("format", "Format"), lambda file: shown(file.format)),
        (Column("rows", "Rows", Unit.COUNT), lambda file: file.rows),
        (Column("calls", "Calls", Unit.COUNT), lambda file: file.calls),
        (Column("other_rows", "Other rows", Unit.COUNT), lambda file: sum(file.known.values())),
        (Column("skipped", "Skipped", Unit.COUNT), lambda file: file.skipped),
        (
            Column("notes", "Notes"),
            lambda file: "; ".join(f"{shown(note)}: {number:,}" for note, number in sorted(file.notes.items())),
        ),
    )
    return table_of("ingest", "What was read", fields, audit.ingest.files)


def skipped(audit: Audit) -> Table:
    """Rows and files that could not be used, and why."""
    columns = (Column("file", "File"), Column("row", "Row", Unit.COUNT), Column("reason", "Reason"))
    refused = ((shown(one.file, PATH), None, shown(one.reason, PATH)) for one in audit.ingest.refused)
    rows = ((shown(one.file, PATH), one.row, shown(one.reason, PATH)) for one in audit.ingest.skips)
    return Table("skipped", "What was not read", columns, (*refused, *rows))


def rules(audit: Audit) -> Table:
    """Provider rules that were applied."""
    fields: tuple[Field[RuleUsed], ...] = (
        (Column("rule", "Rule"), lambda rule: shown(rule.id)),
        (Column("provider", "Provider"), lambda rule: shown(rule.provider)),
        (Column("algorithm", "Algorithm"), lambda rule: shown(rule.algorithm)),
        (Column("valid_from", "Valid from"), lambda rule: shown(rule.valid_from)),
        (Column("checked", "Checked"), lambda rule: shown(rule.checked)),
        (Column("evidence", "Evidence"), lambda rule: shown(rule.evidence)),
        (Column("calls", "Calls", Unit.COUNT), lambda rule: rule.calls),
        (Column("source", "Source"), lambda rule: shown(rule.source, PATH)),
    )
    return table_of("rules", "Provider rules used", fields, audit.rules)


def prices(audit: Audit) -> Table:
    """Prices that were applied, in USD per million tokens."""
    fields: tuple[Field[PriceUsed], ...] = (
        (Column("model", "Model"), lambda price: shown(price.model)),
        (Column("provider", "Provider"), lambda price: shown(price.provider)),
        (Column("tier", "Tier"), lambda price: shown(price.tier)),
        (Column("calls", "Calls", Unit.COUNT), lambda price: price.calls),
        (Column("input_usd", "Input", Unit.USD), lambda price: price.input),
        (Column("cache_read_usd", "Read", Unit.USD), lambda price: price.cache_read),
        (
            Column("cache_writes_usd", "Write"),
            lambda price: ", ".join(
                f"{shown(ttl) or 'any'}: ${rate.normalize():f}" for ttl, rate in sorted(price.cache_writes.items())
            ),
        ),
        (Column("output_usd", "Output", Unit.USD), lambda price: price.output),
        (Column("source", "Source"), lambda price: shown(price.source, PATH)),
        (Column("error", "Problem"), lambda price: shown(price.error or "", PATH)),
        (Column("notes", "Taken for granted"), lambda price: shown("; ".join(price.notes), PROSE)),
    )
    return table_of("prices", "Prices used (USD per million tokens)", fields, audit.prices)


def _shown(text: str | None, limit: int = NAME) -> str | None:
    """Unknown stays unknown."""
    return None if text is None else shown(text, limit)
