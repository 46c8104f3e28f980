"""LiteLLM_SpendLogs from a real PostgreSQL server, started and stopped here."""

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hitledger.errors import HitledgerError, NothingToReadError, UsageError
from hitledger.logs.files import LogFile
from hitledger.logs.postgres import database, is_database, spend_rows
from hitledger.logs.read import read_logs
from hitledger.types import Evidence
from log_fixtures import figures
from log_reading import FIXTURES

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (the extra [postgres])")

PASSWORD = "s3cret/word"
QUOTED = "s3cret%2Fword"
# Columns of the table as LiteLLM's schema.prisma makes it.
TABLE = """CREATE TABLE "LiteLLM_SpendLogs" (request_id text PRIMARY KEY, call_type text, api_key text, spend float8,
total_tokens int, prompt_tokens int, completion_tokens int, "startTime" timestamp(3), "endTime" timestamp(3),
"completionStartTime" timestamp(3), model text, model_id text, custom_llm_provider text, api_base text, metadata jsonb,
cache_hit text, messages jsonb, response jsonb, session_id text, status text, proxy_server_request jsonb)"""
COLUMNS = (
    *("request_id", "call_type", "api_key", "spend", "total_tokens", "prompt_tokens", "completion_tokens", "startTime"),
    *(
        "endTime",
        "completionStartTime",
        "model",
        "model_id",
        "custom_llm_provider",
        "api_base",
        "metadata",
        "cache_hit",
    ),
    *("messages", "response", "session_id", "status", "proxy_server_request"),
)


def programs() -> Path | None:
    """The folder of initdb and pg_ctl: Debian keeps them off the PATH."""
    found = [Path(found).resolve().parent for name in ("initdb",) if (found := shutil.which(name))]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def other_user() -> dict[str, int]:
    """PostgreSQL refuses to run as root: then as its own user, else as nobody."""
    if os.getuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an empty database on a free port."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    owner = other_user()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    root = Path(tempfile.mkdtemp(prefix="pg"))
    if owner:
        os.chown(root, owner["user"], owner["group"])

    def run(*command: str) -> None:
        with (root / "output").open("ab") as output:
            subprocess.run(command, check=True, cwd=root, stdout=output, stderr=output, timeout=120, **owner)

    password = root / "password"
    password.write_text(PASSWORD)
    data = ("-D", str(root / "data"))
    try:
        (root / "output").touch(mode=0o666)
        if owner:
            os.chown(password, owner["user"], owner["group"])
        initdb = ("-U", "auditor", "--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", "-E", "UTF8")
        run(str(folder / "initdb"), *data, *initdb)
        settings = f"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories='' -c fsync=off"
        run(str(folder / "pg_ctl"), *data, "-w", "-l", str(root / "log"), "-o", settings, "start")
        try:
            yield f"postgresql://auditor:{QUOTED}@127.0.0.1:{port}/postgres"
        finally:
            run(str(folder / "pg_ctl"), *data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def filled(server: str) -> str:
    """The spend logs of the file fixture, as rows; and 1,200 more."""
    rows = json.loads((FIXTURES / "litellm" / "spend_logs.json").read_text())
    with psycopg.connect(server) as connection:
        connection.execute(TABLE)
        for row in rows:
            insert(connection, row)
        for number in range(1200):
            insert(connection, {**rows[0], "request_id": f"more-{number}", "startTime": "2025-01-25 00:00:00"})
    return server


def insert(connection: Any, row: dict[str, Any]) -> None:
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    marks = ", ".join(["%s"] * len(COLUMNS))
    connection.execute(
        f'INSERT INTO "LiteLLM_SpendLogs" ({names}) VALUES ({marks})', [row.get(name) for name in COLUMNS]
    )


def test_calls_are_those_of_the_file_export(filled: str) -> None:
    reading = read_logs([filled])
    calls = list(reading.calls())
    from_file = list(read_logs([str(FIXTURES / "litellm" / "spend_logs.json")]).calls())
    assert len(calls) == 1202
    for call, exported in zip(calls, from_file, strict=False):
        assert (call.id, figures(call), call.session) == (exported.id, figures(exported), exported.session)
        assert call.started_at is not None
        assert exported.started_at is not None
        assert abs(call.started_at - exported.started_at) < timedelta(milliseconds=1)  # the column keeps three digits
    assert calls[1].evidence is Evidence.EXACT
    (ledger,) = reading.ingest.ledgers
    assert (ledger.rows, ledger.calls, ledger.skipped, ledger.format) == (1202, 1202, 0, "litellm")
    assert ledger.balanced


def test_the_password_is_never_shown(filled: str) -> None:
    reading = read_logs([filled])
    shown = [reading.ingest.ledgers[0].file] if reading.ingest.ledgers else []
    shown += [repr(next(iter(reading.calls())).place), reading.claimed[0][1][0].name]
    assert all("auditor" not in text and "cret" not in text for text in shown)
    assert shown[-1].startswith("postgresql://127.0.0.1:")
    wrong = filled.replace(QUOTED, "wr%40ng")
    with pytest.raises(HitledgerError) as caught:
        list(read_logs([wrong]).calls())
    assert "password authentication failed" in str(caught.value)
    assert "wr@ng" not in str(caught.value)
    assert "wr%40ng" not in str(caught.value)


def test_the_transaction_is_read_only_and_limited(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []
    connect = psycopg.connect

    class Watched:
        """A connection that asks the server for its settings when the first row is fetched."""

        def __init__(self, *args: Any, **options: Any) -> None:
            self.connection = connect(*args, **options)

        def __enter__(self) -> Any:
            return self.connection.__enter__()

        def __exit__(self, *error: object) -> None:
            settings = self.connection.execute("SHOW transaction_read_only").fetchone()
            timeout = self.connection.execute("SHOW statement_timeout").fetchone()
            seen.append((settings[0], timeout[0]))
            self.connection.__exit__(*error)

    monkeypatch.setattr(psycopg, "connect", Watched)
    assert len(list(spend_rows(database(filled)))) == 1202
    assert seen == [("on", "10min")]


def test_a_database_of_something_else(filled: str) -> None:
    other = filled.removesuffix("/postgres") + "/template1"
    with pytest.raises(NothingToReadError, match="no table LiteLLM_SpendLogs"):
        list(read_logs([other]).calls())


def test_no_server(server: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"postgresql://auditor:{QUOTED}@127.0.0.1:{probe.getsockname()[1]}/postgres"
        with pytest.raises(HitledgerError) as caught:
            list(read_logs([url]).calls())
    assert "refused" in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_without_psycopg_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"pip install 'hitledger\[postgres\]'"):
        next(iter(spend_rows(database("postgresql://localhost/x"))))


def test_only_what_the_user_names_is_a_database(tmp_path: Path) -> None:
    """A file or standard input with an address in it must not cause a connection."""
    assert is_database(database("postgres://u:p@h/db"))
    path = tmp_path / "list.txt"
    path.write_text("postgresql://h/db\n")
    assert not is_database(LogFile(path, path.name))
    assert not is_database(LogFile(None, "-", b"postgresql://h/db"))
    assert database("postgres://u:p@h:99/db?password=q&x=1").name == "postgresql://h:99/db"
    assert database("postgresql://[::1/db").name == "postgresql://…"
