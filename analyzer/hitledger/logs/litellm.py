"""LiteLLM: StandardLoggingPayloads and rows of LiteLLM_SpendLogs, as one document, a list or lines; or from PostgreSQL.

LiteLLM writes every provider's usage in OpenAI's form, `prompt_tokens` with the cached and written tokens in it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.litellm_rows import call_of, is_row, not_a_call
from hitledger.logs.postgres import is_database, spend_rows
from hitledger.logs.records import numbered
from hitledger.logs.values import opening, values
from hitledger.segments import Layout
from hitledger.types import Call, Place

FORMAT = "litellm"
LIST_KEYS = ("data", "logs", "spend_logs")


def sniff(file: LogFile) -> bool:
    """Whether it names a database, or its first record has the fields of one of the two."""
    if is_database(file):
        return True
    value = opening(file)
    return any(is_row(record) for record in _records(value)[:1])


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """All calls; a request that is in two files counts once."""
    seen: set[str] = set()
    layout = Layout()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for row, record in _rows(file, ledger):
            if not isinstance(record, Mapping) or not is_row(record):
                ledger.skip(row, "no LiteLLM log row")
            elif reason := not_a_call(record):
                ledger.known(reason)
            else:
                call = call_of(record, Place(file.name, row), layout)
                if call.id in seen:
                    ledger.known("same call")
                    continue
                seen.add(call.id)
                ledger.call()
                for note in call.notes:
                    ledger.note(note)
                yield call


def _rows(file: LogFile, ledger: FileLedger) -> Iterator[tuple[int, Any]]:
    if is_database(file):
        for number, record in enumerate(spend_rows(file), start=1):
            ledger.count_rows()
            yield number, record
        return
    for value in values(file, ledger):
        yield from numbered(_records(value.data), value.cut, ledger, "row")


def _records(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    for key in LIST_KEYS:
        if isinstance(value, Mapping) and not is_row(value) and isinstance(value.get(key), list):
            return list(value[key])
    return [value]
