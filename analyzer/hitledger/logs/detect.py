"""Which reader reads a file: the one that knows its content."""

from contextlib import suppress

from hitledger.errors import NothingToReadError
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import UNEXPECTED, FileLedger
from hitledger.logs.registry import Reader, distinct_readers, reader_of, readers


def detect(file: LogFile, format_name: str | None = None) -> Reader:
    """The reader of the file; `format_name` overrides what the content says.

    Raises NothingToReadError (its message is the reason, without the file's name) where the file is unreadable,
    empty, known to no reader or claimed by more than one; UsageError for a format that there is none of.
    """
    if not _head(file).strip():
        raise NothingToReadError("empty")
    if format_name is not None:
        return reader_of(format_name)
    claims = _claims(file, distinct_readers()) or _claims(file, readers())
    if len(claims) == 1:
        return claims[0]
    if claims:
        names = " and ".join(reader.format for reader in claims)
        raise NothingToReadError(f"read by {names}: say which with --format")
    raise NothingToReadError(f"unknown format{_first_damage(file)}; --format names one")


def _claims(file: LogFile, asked: tuple[Reader, ...]) -> list[Reader]:
    return [reader for reader in asked if _claimed(reader, file)]


def _claimed(reader: Reader, file: LogFile) -> bool:
    try:
        return reader.sniff(file)
    except UNEXPECTED:  # rows of wrong types, made to break readers
        return False


def _head(file: LogFile) -> bytes:
    try:
        return file.readable_head()
    except NothingToReadError as error:
        raise NothingToReadError(str(error).removeprefix(f"{file.name}: ")) from error


def _first_damage(file: LogFile) -> str:
    """Why its first row is no JSON, where it is none: the usual reason for an unknown format.

    The first line of a printed document is none either, and that is no damage.
    """
    with suppress(NothingToReadError):
        file.document()
        return ""
    ledger = FileLedger(file.name, "")
    for _ in file.rows(ledger):
        break
    return f" (line {ledger.skips[0].row}: {ledger.skips[0].reason})" if ledger.skips else ""
