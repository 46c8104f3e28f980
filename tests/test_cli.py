"""The program as a person runs it: exit codes, one line on stderr that says what to do, and never a traceback."""

import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from shutil import which
from typing import Any
from unittest import mock

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from hitledger_reports.cli import app, asked_of, main
from log_reading import FIXTURES

CLOCK = FIXTURES / "scenarios" / "01-system-clock-seconds.json"


PROGRAM = str(Path(sys.executable).with_name("hitledger"))


@dataclass(frozen=True, slots=True)
class Done:
    """What a run left behind."""

    returncode: int
    stdout: str
    stderr: str


def hitledger(*arguments: str | Path) -> Done:
    """Run the program in this process, standard input empty. What is no error of ours fails the test."""
    stdout, stderr, code = StringIO(), StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["hitledger", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", TextIOWrapper(BytesIO())),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, stdout.getvalue(), stderr.getvalue())


def process(*arguments: str, prefix: tuple[str, ...] = (), **options: Any) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
    return subprocess.run(
        [*prefix, PROGRAM, *arguments], stderr=subprocess.PIPE, text=True, timeout=60, check=False, **options
    )


@pytest.mark.parametrize("name", get_group(app).commands)
def test_a_command_that_is_built_alone_is_the_one_of_the_whole_program(name: str) -> None:
    alone = asked_of([name, "--help"])
    assert (alone is app) == (name == "models")  # a group of commands
    assert CliRunner().invoke(alone, [name, "--help"]).output == CliRunner().invoke(app, [name, "--help"]).output
    assert get_group(app).commands.keys() > get_group(asked_of(["audit", "models"])).commands.keys() == {"audit"}
    assert asked_of([]) is asked_of(["--help"]) is asked_of(["unknown"]) is app


def body(number: int, **changed: Any) -> dict[str, Any]:
    """One row of request and response: a prompt of 2,010 tokens more at each call, all read but the new part."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 2000 * number, "output_tokens": 5}
    return {
        "timestamp": f"2026-08-04T09:00:{number:02}Z",
        "session_id": "s",
        "request": {
            "model": "claude-opus-5",
            "system": [{"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": "hi"}] * (number + 1),
        },
        "response": {"id": f"m{number}", "usage": {**usage, "cache_creation_input_tokens": 2000}},
        **changed,
    }


def write(path: Path, *rows: dict[str, Any] | bytes) -> Path:
    """Rows as lines."""
    path.write_bytes(b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows))
    return path


def used(row: dict[str, Any], **figures: Any) -> dict[str, Any]:
    """The row with other usage figures."""
    row["response"]["usage"].update(figures)
    return row


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "ok.jsonl", body(0), body(1))
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "note.txt").write_text("no log\n")
    (tmp_path / "deep.json").write_text("[" * 10_000 + "]" * 10_000)
    return tmp_path


WRONG = [
    (("audit", "gone.jsonl"), 3, "gone.jsonl: cannot be read: No such file or directory"),
    (("audit", ""), 3, '"": an empty name; the current folder is .'),
    (("audit", "none*.jsonl"), 3, "none*.jsonl: no file matches"),
    (("audit", "/dev/zero"), 3, "/dev/zero: neither a file nor a folder (pipe it in and name it -)"),
    (("audit", "empty.jsonl"), 3, "empty.jsonl: empty"),
    (("audit", "-"), 3, "-: empty"),
    (("audit", "note.txt"), 3, "note.txt: unknown format (line 1: not valid JSON: "),
    (("audit", "deep.json"), 3, "deep.json: unknown format (line 1: not valid JSON: depth limit exceeded"),
    (("audit", "ok.jsonl", "--format", "codex"), 3, "ok.jsonl: no call in it, read as codex; --format names another"),
    (("audit", "ok.jsonl", "--format", "nope"), 2, "no log format is called 'nope'; there are: aider, "),
    (("audit", "ok.jsonl", "--json", "gone/a.json"), 1, "gone/a.json: cannot be written: No such file or directory"),
    (("audit", "ok.jsonl", "--html", "gone/a.html"), 1, "gone/a.html: cannot be written: No such file or directory"),
    (("audit", "ok.jsonl", "--markdown", "gone/a.md"), 1, "gone/a.md: cannot be written: No such file or directory"),
    (("audit", "ok.jsonl", "--json", "."), 1, ".: cannot be written: Is a directory"),
    (("audit", "ok.jsonl", "--prices", "gone.toml"), 2, "gone.toml: cannot be read: No such file or directory"),
    (("audit", "ok.jsonl", "--prices", "ok.jsonl"), 2, "ok.jsonl: not TOML: "),
    (("audit", "ok.jsonl", "--prices", "deep.json"), 2, "deep.json: not JSON: "),
    (("audit", "ok.jsonl", "--tokenizer", "m=gone"), 2, "--tokenizer m=gone: give MODEL=FILE, with FILE a tokenizer"),
    (("audit", "ok.jsonl", "--tokenizer", "claude-opus-5=note.txt"), 1, "note.txt: not a tokenizer.json"),
    (("audit", "ok.jsonl", "--min-loss", "²"), 2, "--min-loss ²: give tokens, a percentage, or both"),
    (("audit", "ok.jsonl", "--fail-over", ""), 2, "--fail-over : give a share of the bill, money or tokens"),
    (("audit", "ok.jsonl", "--fail-over", "nan%"), 2, "--fail-over nan%: give a share of the bill, money or tokens"),
    (("audit", "ok.jsonl", "note.txt", "--strict"), 1, "note.txt: unknown format (line 1: not valid JSON: "),
    (("explain", "nope"), 2, "no cause is called nope; `hitledger explain` lists them all"),
    (("report", "gone.json"), 3, "gone.json: cannot be read: No such file or directory"),
    (("report", "ok.jsonl"), 3, "ok.jsonl: not an audit of hitledger: "),
]


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG, ids=[" ".join(case[0]) for case in WRONG])
def test_what_is_wrong_is_said(folder: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = hitledger(*arguments)
    assert done.returncode == code
    assert done.stderr.startswith("hitledger: ")
    assert message in done.stderr


def test_usage_of_the_command_line_itself(folder: Path) -> None:
    assert hitledger("nope").returncode == 2
    assert hitledger("audit", "--nope").returncode == 2
    assert hitledger().returncode == 2


def test_over_the_limit(tmp_path: Path) -> None:
    """Call 1 and 2 of the scenario lose 2,033 tokens each, so all three units are over 0 and none over far more."""
    assert hitledger("audit", CLOCK, "--quiet").returncode == 0
    for limit in ("0%", "0usd", "1tokens"):
        done = hitledger("audit", CLOCK, "--quiet", "--fail-over", limit)
        assert done.returncode == 4
        assert done.stdout == ""
        assert done.stderr.startswith("hitledger: breaks cost ")
    for limit in ("100%", "1usd", "1000000tokens"):
        assert hitledger("audit", CLOCK, "--quiet", "--fail-over", limit).returncode == 0


def test_one_bad_input_costs_no_other(folder: Path) -> None:
    os.mkfifo("pipe.jsonl")
    (folder / "self").symlink_to("self")
    done = hitledger("audit", ".", "gone.jsonl", "--json", "a.json")
    assert done.returncode == 0
    found = json.loads((folder / "a.json").read_text())
    assert [call["cache_read_tokens"] for call in found["calls"]] == [0, 2000]
    assert {row["file"] for row in found["ingest"]["refused"]} == {
        *("deep.json", "empty.jsonl", "gone.jsonl", "note.txt", "pipe.jsonl", "self")
    }


ROWS: dict[str, tuple[dict[str, Any] | bytes, str | None]] = {
    "cut in half": (json.dumps(body(1)).encode()[:150], "not valid JSON: "),
    "invalid UTF-8": (json.dumps(body(1)).encode().replace(b"clerk", b"cl\xff\xferk"), "not valid JSON: str is not"),
    "NUL bytes": (b"\0" * 4096, "not valid JSON: unexpected character"),
    "10,000 deep": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "not valid JSON: depth limit exceeded"),
    "50 MB": (b'{"text":"' + b"x" * (50 * 2**20) + b'"}', "line longer than 32 MiB"),
    "1e400": (json.dumps(used(body(1), input_tokens=77777)).encode().replace(b"77777", b"1e400"), "not valid JSON: "),
    "10**400": (used(body(1), input_tokens=10**400), "not valid JSON: "),
    "NaN": (used(body(1), cache_read_input_tokens=float("nan")), "not valid JSON: "),
    "10**30": (used(body(1), cache_read_input_tokens=10**30), None),
    "negative": (used(body(1), input_tokens=-5, cache_read_input_tokens=-5, cache_creation_input_tokens=-5), None),
    "strings": (used(body(1), input_tokens="ten", cache_read_input_tokens=[], output_tokens={}), None),
    "year 1": (body(1, timestamp="0001-01-01T00:00:00Z"), None),
    "year 1, east": (body(1, timestamp="0001-01-01T00:00:00+14:00"), None),
    "year 9999": (body(1, timestamp="9999-12-31T23:59:59.999999-12:00"), None),
    "year 99999": (body(1, timestamp="99999-01-01T00:00:00Z"), None),
    "time as a list": (body(1, timestamp=[]), None),
    "status as text": (body(1, status="broken"), None),
    "a session with markup": (body(1, session_id="[red]x[/blue]\x1b]0;pwned\x07\u202e"), None),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_bad_row_costs_itself_only(folder: Path, name: str) -> None:
    row, reason = ROWS[name]
    write(folder / "bad.jsonl", body(0), row, body(2))
    done = hitledger("audit", "bad.jsonl", "--json", "a.json", "--html", "a.html", "--markdown", "a.md")
    assert done.returncode == 0, done.stderr
    assert "\x1b]" not in done.stdout
    found = json.loads((folder / "a.json").read_text())
    by_row = {call["id"]: call for call in found["calls"]}
    assert by_row["m0"]["cache_write_tokens"] == 2000
    assert by_row["m2"]["cache_read_tokens"] == 4000
    skips = [(skip["row"], skip["reason"]) for skip in found["ingest"]["skips"]]
    if reason is None:
        assert skips == []
        assert len(found["calls"]) == 3
        figures = [call[key] for call in found["calls"] for key in call if key.endswith("_tokens")]
        assert all(figure is None or 0 <= figure < 10**12 for figure in figures)
    else:
        ((number, said),) = skips
        assert number == 2
        assert said.startswith(reason)
        assert hitledger("audit", "bad.jsonl", "--strict").stderr.startswith(f"hitledger: bad.jsonl:2: {reason}")


def test_ids_that_repeat(folder: Path) -> None:
    write(
        folder / "same.jsonl", *(body(number, id="x") | {"response": body(number)["response"]} for number in range(3))
    )
    write(folder / "again.jsonl", body(0), body(0), body(1), body(0))
    assert hitledger("audit", "same.jsonl", "--json", "a.json").returncode == 0
    assert len({call["id"] for call in json.loads((folder / "a.json").read_text())["calls"]}) == 3
    assert hitledger("audit", "again.jsonl", "--json", "a.json").returncode == 0
    assert [call["id"] for call in json.loads((folder / "a.json").read_text())["calls"]] == ["m0", "m1"]


def test_standard_input(folder: Path) -> None:
    with (folder / "ok.jsonl").open("rb") as stream:
        done = process("audit", "-", stdin=stream)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 calls, 1 session; 2026-08-04 09:00")


def test_a_report_on_standard_output_stands_there_alone(folder: Path) -> None:
    done = process("audit", "ok.jsonl", "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["calls"]) == 2
    assert hitledger("audit", "ok.jsonl", "--json", "a.json").returncode == 0
    assert done.stdout == (folder / "a.json").read_text()
    assert process("audit", "ok.jsonl", "--markdown", "-").stdout.startswith("## Prompt cache: 2 calls")
    assert not (folder / "-").exists()


def test_of_many_files_those_with_skipped_rows_and_most_calls_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(14):
        rows = [body(index) | {"session_id": f"s{number}"} for index in range(1 + (number == 12))]
        write(tmp_path / f"{number:02}.jsonl", *rows, *([b"{"] if number == 13 else []))
    shown = hitledger("audit", ".").stdout.partition("What was read")[2].splitlines()
    names = [line.split()[0] for line in shown[2:14]]
    assert [Path(name).name for name in names[:3]] == [
        "13.jsonl",
        "00.jsonl",
        "12.jsonl",
    ]  # the others are copies of 00
    assert "and 2 more rows" in shown[14]


def test_standard_output_that_is_full(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = process("audit", "ok.jsonl", stdout=full)
    assert (done.returncode, done.stderr) == (1, "hitledger: cannot write: No space left on device\n")


def test_a_file_without_permission(folder: Path) -> None:
    """As root, run without the right to read everything."""
    prefix = ()
    if os.geteuid() == 0:
        prefix = ("setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search")
        if which("setpriv") is None or subprocess.run([*prefix, "true"], check=False).returncode:
            pytest.skip("root without setpriv reads every file")
    (folder / "shut.jsonl").write_bytes((folder / "ok.jsonl").read_bytes())
    (folder / "shut.jsonl").chmod(0)
    alone = process("audit", "shut.jsonl", prefix=prefix)
    assert alone.returncode == 3
    assert alone.stderr == "hitledger: nothing to read\n  shut.jsonl: cannot be read: Permission denied\n"
    both = process("audit", "shut.jsonl", "ok.jsonl", prefix=prefix)
    assert (both.returncode, both.stderr) == (0, "")
    assert "shut.jsonl" in both.stdout
    assert "cannot be read: Permission denied" in both.stdout
