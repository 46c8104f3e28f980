"""Rows of LiteLLM_SpendLogs from a PostgreSQL server that the user named: read-only, a cursor on the server, a time limit."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hitledger.errors import HitledgerError, NothingToReadError, UsageError
from hitledger.logs.files import LogFile

SCHEMES = ("postgresql://", "postgres://")
TABLE = "LiteLLM_SpendLogs"
STATEMENT_SECONDS = 600
CONNECT_SECONDS = 15
ROWS_AT_ONCE = 500


def is_address(given: str) -> bool:
    """Whether what the user named is the address of a PostgreSQL database."""
    return given.startswith(SCHEMES)


def database(url: str) -> LogFile:
    """The database as an input. Its name is printed and so has no user, password or options; the address is content."""
    return LogFile(None, _shown(url), url.encode())


def is_database(file: LogFile) -> bool:
    """Whether an input is one that `database` made. A file that merely holds an address is none: no network for it."""
    return file.path is None and is_address(file.name)


def _shown(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "postgresql://…"
    return f"postgresql://{parts.hostname or ''}{port}{parts.path}"


def spend_rows(file: LogFile) -> Iterator[Mapping[str, Any]]:
    """All rows in the order of their start. Raises UsageError without psycopg, else HitledgerError by what failed."""
    try:
        import psycopg
        from psycopg.rows import dict_row
    except ImportError as error:
        raise UsageError("reading from PostgreSQL needs psycopg: pip install 'hitledger[postgres]'") from error
    url = (file.content or b"").decode()
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS, application_name="hitledger") as connection:
            connection.read_only = True
            connection.execute(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")
            with connection.cursor(name="hitledger_spend_logs", row_factory=dict_row) as cursor:
                cursor.itersize = ROWS_AT_ONCE
                cursor.execute(f'SELECT * FROM "{TABLE}" ORDER BY "startTime", request_id')
                yield from cursor
    except psycopg.errors.UndefinedTable as error:
        raise NothingToReadError(f"{file.name}: no table {TABLE}: is it the database of a LiteLLM proxy?") from error
    except psycopg.errors.QueryCanceled as error:
        raise HitledgerError(f"{file.name}: a step of the query took longer than {STATEMENT_SECONDS} s") from error
    except psycopg.Error as error:
        raise HitledgerError(f"{file.name}: {_reason(error, url)}") from None


def _reason(error: Exception, url: str) -> str:
    """The server's message on one line, without the secrets of the address in whatever form it repeats them."""
    message = " ".join(str(error).split())
    for secret in _secrets(url):
        message = message.replace(secret, "…")
    return message


def _secrets(url: str) -> set[str]:
    """The password, as written and as meant, wherever the address has it; all of it where it cannot be taken apart."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return {url}
    found = {parts.password or "", unquote(parts.password or "")}
    found |= {value for name, value in parse_qsl(parts.query) if "password" in name}
    return {url, *found} - {""}
