"""An SQLite database as a row source: opened read-only and unlocked, only plain tables, damage counted."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from hitledger.errors import HitledgerError
from hitledger.logs.files import MAX_DOCUMENT_BYTES, LogFile
from hitledger.logs.ingest import FileLedger

MAGIC = b"SQLite format 3\0"
MAX_VALUE_BYTES = 128 * 2**20
MAX_STEPS = 2 * 10**9  # virtual machine steps of one query, in case its index is crafted
STEPS_PER_CHECK = 10**6


def is_database(file: LogFile) -> bool:
    """By its first bytes. Never raises."""
    try:
        return file.head().startswith(MAGIC)
    except HitledgerError:
        return False


def has_tables(file: LogFile, wanted: Mapping[str, frozenset[str]]) -> bool:
    """Whether it is a database with these tables and at least these columns. Never raises."""
    if not is_database(file):
        return False
    try:
        with database(file) as connection:
            found = tables(connection)
    except (sqlite3.Error, HitledgerError, OSError):
        return False
    return all(columns <= found.get(name, frozenset()) for name, columns in wanted.items())


@contextmanager
def database(file: LogFile) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write and takes no lock, so that the program that owns the file is not disturbed.

    What still stands in a write-ahead log beside the file is not seen (`unmerged`). Raises sqlite3.Error.
    """
    with closing(_opened(file)) as connection:
        connection.row_factory = sqlite3.Row
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.execute("PRAGMA query_only=1")
        connection.execute("PRAGMA trusted_schema=0")
        yield connection


@contextmanager
def damage_skipped(file: LogFile, ledger: FileLedger) -> Iterator[None]:
    """For reading a database: what the library says against it is one skipped row, rows that are not seen are a note."""
    if unmerged(file):
        ledger.note("a write-ahead log lies beside the database: its newest rows are not read")
    try:
        yield
    except sqlite3.Error as error:
        ledger.count_rows()
        ledger.skip(1, f"not a readable database: {error}")


def _opened(file: LogFile) -> sqlite3.Connection:
    if file.path is not None:
        with file.path.open("rb") as raw:
            plain = raw.read(len(MAGIC)) == MAGIC
        if plain:
            return sqlite3.connect(f"{file.path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    with file.open() as stream:
        content = stream.read(MAX_DOCUMENT_BYTES + 1)
    connection = sqlite3.connect(":memory:")
    if len(content) > MAX_DOCUMENT_BYTES:
        connection.close()
        raise sqlite3.DatabaseError(f"larger than {MAX_DOCUMENT_BYTES // 2**20} MiB when unpacked")
    connection.deserialize(content)
    return connection


def unmerged(file: LogFile) -> bool:
    """Whether a write-ahead log lies beside the file: its newest rows are then not read."""
    if file.path is None:
        return False
    log = file.path.with_name(file.path.name + "-wal")
    return log.is_file() and log.stat().st_size > 0


def tables(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """Tables and their columns; views are left out, their SQL is the file's own."""
    names = [str(row["name"]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: frozenset(
            str(row["name"]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
        )
        for name in names
    }


def table_rows(
    connection: sqlite3.Connection, table: str, order: tuple[str, ...], ledger: FileLedger
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a table with their number from 1, in the order of those of the columns that exist, then as stored.

    Each row counts in the ledger; where the file is damaged, the rest is one skipped row.
    """
    known = tables(connection)
    if table not in known:
        return
    keys = [f'"{name}"' for name in order if name in known[table]]
    steps = 0

    def exhausted() -> bool:
        nonlocal steps
        steps += STEPS_PER_CHECK
        return steps > MAX_STEPS

    number = 0
    connection.set_progress_handler(exhausted, STEPS_PER_CHECK)
    try:
        for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY {", ".join([*keys, "rowid"])}'):
            number += 1
            ledger.count_rows()
            yield number, dict(row)
    except sqlite3.Error as error:
        ledger.count_rows()
        ledger.skip(number + 1, f"{table}: the rest cannot be read: {error}")
    finally:
        connection.set_progress_handler(None, 0)
