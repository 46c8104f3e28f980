"""Every table of an audit, row for row."""

from hitledger.results import Audit, Break, CallResult
from hitledger_reports.shown import EXCERPT, PATH, PROSE, shown
from hitledger_reports.view.breaks import place
from hitledger_reports.view.by import By
from hitledger_reports.view.group_tables import group_table
from hitledger_reports.view.segment_table import segments
from hitledger_reports.view.table import Column, Table, Unit, Value


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
    columns = (
        Column("cause", "Cause"),
        Column("cost_usd", "Lost money", Unit.USD, sure="certainty"),
        Column("rebilled_tokens", "Rebilled", Unit.TOKENS, sure="certainty"),
        Column("lost_tokens", "", Unit.TOKENS, sure="certainty"),
        Column("readable_before", "", Unit.TOKENS, sure="certainty"),
        Column("certainty", ""),
        Column("confidence", ""),
        Column("place", "Place"),
        Column("path", ""),
        Column("char_offset", "", Unit.COUNT),
        Column("token_offset", "", Unit.TOKENS),
        Column("before", ""),
        Column("after", ""),
        Column("provider_reason", ""),
        Column("fix", "Fix"),
        Column("session", "Session"),
        Column("index_in_session", "Call", Unit.COUNT),
        Column("call", ""),
        Column("agent", ""),
        Column("index", "", Unit.COUNT),
    )
    return Table("breaks", "Breaks", columns, tuple(_break(found, show_secrets) for found in audit.breaks))


def _break(found: Break, show_secrets: bool) -> tuple[Value, ...]:
    return (
        shown(found.cause),
        found.cost,
        found.rebilled_tokens,
        found.lost_tokens,
        found.readable_before,
        found.certainty.value,
        shown(found.confidence),
        place(found.path),
        shown(found.path, PATH),
        found.char_offset,
        found.token_offset,
        None if found.before is None else shown(found.before, EXCERPT, show_secrets),
        None if found.after is None else shown(found.after, EXCERPT, show_secrets),
        None if found.provider_reason is None else shown(found.provider_reason, PATH),
        shown(found.fix, PROSE),
        shown(found.session),
        found.index_in_session,
        shown(found.call),
        shown(found.agent),
        found.index,
    )


def findings(audit: Audit) -> Table:
    """Problems that are no breaks."""
    columns = (
        Column("call", ""),
        Column("index", "Call", Unit.COUNT),
        Column("cause", "Cause"),
        Column("confidence", "Confidence"),
        Column("place", "Place"),
        Column("path", ""),
        Column("note", "What was seen"),
        Column("fix", "Fix"),
    )
    rows = tuple(
        (
            shown(found.call),
            found.index,
            shown(found.cause),
            shown(found.confidence),
            place(found.path),
            shown(found.path, PATH),
            shown(found.note, PROSE),
            shown(found.fix, PROSE),
        )
        for found in audit.findings
    )
    return Table("findings", "Findings that are no breaks", columns, rows)


def calls(audit: Audit) -> Table:
    """Every call with its columns; for machines."""
    columns = (
        Column("id", "Call"),
        Column("session", "Session"),
        Column("agent", "Agent"),
        Column("project", "Project"),
        Column("file", "File"),
        Column("row", "Row", Unit.COUNT),
        Column("index", "Index", Unit.COUNT),
        Column("index_in_session", "In session", Unit.COUNT),
        Column("compared_with", "Compared with"),
        Column("started_at", "Started (UTC)", Unit.TIME),
        Column("gap_seconds", "Gap", Unit.SECONDS),
        Column("provider", "Provider"),
        Column("model", "Model"),
        Column("evidence", "Evidence"),
        Column("status", "Status", Unit.COUNT),
        Column("ttl", "Lifetime"),
        Column("input_tokens", "Input", Unit.TOKENS),
        Column("uncached_input_tokens", "Uncached", Unit.TOKENS),
        Column("cache_read_tokens", "Read", Unit.TOKENS),
        Column("cache_write_tokens", "Written", Unit.TOKENS),
        Column("output_tokens", "Output", Unit.TOKENS),
        Column("ideal_cache_read_tokens", "Ideal read", Unit.TOKENS),
        Column("expected_cache_read_tokens", "Expected read", Unit.TOKENS),
        Column("cost_usd", "Paid", Unit.USD),
        Column("cost_source", "Cost from"),
        Column("certainties", "Not exact"),
    )
    return Table("calls", "Calls", columns, tuple(_call(call) for call in audit.calls))


def _call(call: CallResult) -> tuple[Value, ...]:
    return (
        shown(call.id),
        shown(call.session),
        shown(call.agent),
        shown(call.project),
        shown(call.file, PATH),
        call.row,
        call.index,
        call.index_in_session,
        None if call.compared_with is None else shown(call.compared_with),
        call.started_at,
        call.gap_seconds,
        shown(call.provider),
        shown(call.model),
        call.evidence.value,
        call.status,
        None if call.ttl is None else shown(call.ttl),
        call.input_tokens,
        call.uncached_input_tokens,
        call.cache_read_tokens,
        call.cache_write_tokens,
        call.output_tokens,
        call.ideal_cache_read_tokens,
        call.expected_cache_read_tokens,
        call.cost,
        None if call.cost_source is None else shown(call.cost_source),
        "; ".join(f"{shown(name)} {certainty.value}" for name, certainty in sorted(call.certainty.items())),
    )


def ingest(audit: Audit) -> Table:
    """What became of each file's rows."""
    columns = (
        Column("file", "File"),
        Column("format", "Format"),
        Column("rows", "Rows", Unit.COUNT),
        Column("calls", "Calls", Unit.COUNT),
        Column("other_rows", "Other rows", Unit.COUNT),
        Column("skipped", "Skipped", Unit.COUNT),
        Column("notes", "Notes"),
    )
    rows = tuple(
        (
            shown(file.file, PATH),
            shown(file.format),
            file.rows,
            file.calls,
            sum(file.known.values()),
            file.skipped,
            "; ".join(f"{shown(note)}: {number:,}" for note, number in sorted(file.notes.items())),
        )
        for file in audit.ingest.files
    )
    return Table("ingest", "What was read", columns, rows)


def skipped(audit: Audit) -> Table:
    """Rows and files that could not be used, and why."""
    columns = (Column("file", "File"), Column("row", "Row", Unit.COUNT), Column("reason", "Reason"))
    refused = ((shown(one.file, PATH), None, shown(one.reason, PATH)) for one in audit.ingest.refused)
    rows = ((shown(one.file, PATH), one.row, shown(one.reason, PATH)) for one in audit.ingest.skips)
    return Table("skipped", "What was not read", columns, (*refused, *rows))


def rules(audit: Audit) -> Table:
    """Provider rules that were applied."""
    columns = (
        Column("rule", "Rule"),
        Column("provider", "Provider"),
        Column("algorithm", "Algorithm"),
        Column("valid_from", "Valid from"),
        Column("checked", "Checked"),
        Column("evidence", "Evidence"),
        Column("calls", "Calls", Unit.COUNT),
        Column("source", "Source"),
    )
    rows = tuple(
        (
            shown(rule.id),
            shown(rule.provider),
            shown(rule.algorithm),
            shown(rule.valid_from),
            shown(rule.checked),
            shown(rule.evidence),
            rule.calls,
            shown(rule.source, PATH),
        )
        for rule in audit.rules
    )
    return Table("rules", "Provider rules used", columns, rows)


def prices(audit: Audit) -> Table:
    """Prices that were applied, in USD per million tokens."""
    columns = (
        Column("model", "Model"),
        Column("provider", "Provider"),
        Column("tier", "Tier"),
        Column("calls", "Calls", Unit.COUNT),
        Column("input_usd", "Input", Unit.USD),
        Column("cache_read_usd", "Read", Unit.USD),
        Column("cache_writes_usd", "Write"),
        Column("output_usd", "Output", Unit.USD),
        Column("source", "Source"),
        Column("error", "Problem"),
    )
    rows = tuple(
        (
            shown(price.model),
            shown(price.provider),
            shown(price.tier),
            price.calls,
            price.input,
            price.cache_read,
            ", ".join(
                f"{shown(ttl) or 'any'}: ${rate.normalize():f}" for ttl, rate in sorted(price.cache_writes.items())
            ),
            price.output,
            shown(price.source, PATH),
            "" if price.error is None else shown(price.error, PATH),
        )
        for price in audit.prices
    )
    return Table("prices", "Prices used (USD per million tokens)", columns, rows)
