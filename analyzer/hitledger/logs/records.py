"""The records of a log that is lines of JSON, or one JSON document that is a list or holds one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from hitledger.errors import NothingToReadError
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger
from hitledger.logs.values import opening, values

LIMIT = 20  # records looked at for detection

IsOne = Callable[[Mapping[str, Any]], bool]
Item = TypeVar("Item")


def rows_or_records(
    file: LogFile, ledger: FileLedger, list_keys: tuple[str, ...], is_one: IsOne
) -> Iterator[tuple[int, Any]]:
    """Number (from 1) and value of each record; rows are counted here.

    `is_one` says whether a document is a record itself; otherwise it holds them under one of `list_keys`.
    A document that is cut short gives the records before the cut.
    """
    if len(file.head_rows()) > 1:
        yield from ((row.number, row.data) for row in file.rows(ledger))
        return
    document, is_cut = whole_or_cut(file)
    if document is None:
        if file.head_rows():
            yield from ((row.number, row.data) for row in file.rows(ledger))
        else:
            ledger.count_rows()
            ledger.skip(1, no_document(file))
        return
    records = records_of(document, list_keys, is_one)
    yield from numbered(records, is_cut, ledger)


def head_records(file: LogFile, list_keys: tuple[str, ...], is_one: IsOne) -> list[Mapping[str, Any]]:
    """The first records that are objects, for detection."""
    rows: list[Any] = list(file.head_rows())
    if len(rows) <= 1:
        rows = records_of(head_document(file), list_keys, is_one)
    return [row for row in rows[:LIMIT] if isinstance(row, Mapping)]


def records_of(document: Any, list_keys: tuple[str, ...], is_one: IsOne) -> list[Any]:
    """The records of a document; one that holds no list is its own only record."""
    if isinstance(document, list):
        return document
    if not isinstance(document, Mapping):
        return []
    if not is_one(document):
        for key in list_keys:
            if isinstance(document.get(key), list):
                return list(document[key])
    return [document]


def whole_or_cut(file: LogFile) -> tuple[Any, bool]:
    """The document, and whether it had to be closed because the file ends inside it; None where it is no JSON."""
    try:
        return file.document(), False
    except NothingToReadError:
        pass
    first = next(values(file, FileLedger(file.name, "")), None)
    return (first.data, True) if first is not None and first.cut else (None, False)


def no_document(file: LogFile) -> str:
    """Why a file cannot be read as one document."""
    try:
        file.document()
    except NothingToReadError as error:
        return str(error).removeprefix(f"{file.name}: ")
    return "holds nothing"


def head_document(file: LogFile) -> Any:
    """For detection: the document, as far as its first bytes hold it where it is damaged; None for lines of JSON."""
    rows = file.head_rows()
    if rows:
        return rows[0] if len(rows) == 1 else None
    if not file.head().lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return None
    try:
        return file.document()
    except NothingToReadError:
        return opening(file)


def records_under(file: LogFile, ledger: FileLedger, path: tuple[str, ...]) -> Iterator[tuple[int, Any]]:
    """Number (from 1) and value of each record of the list at `path` in one document; rows are counted here."""
    whole, is_cut = whole_or_cut(file)
    value = whole
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, list):
        ledger.count_rows()
        ledger.skip(1, f"holds no list {'.'.join(path)}" if whole is not None else no_document(file))
        return
    yield from numbered(value, is_cut, ledger)


def numbered(
    records: Sequence[Item], is_cut: bool, ledger: FileLedger, what: str = "record"
) -> Iterator[tuple[int, Item]]:
    """Counts the records and numbers them on from the rows so far. Of a cut value the last one is not whole: skipped."""
    first, number = ledger.rows + 1, max(len(records), int(is_cut))
    ledger.count_rows(number)
    yield from enumerate(records[:-1] if is_cut else records, start=first)
    if is_cut:
        ledger.skip(first + number - 1, f"the file ends inside this {what}")
