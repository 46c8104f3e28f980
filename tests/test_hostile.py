"""Damaged and hostile input: a clear reason each, the right exit code, and nothing else lost."""

import sys
from pathlib import Path

import pytest

from hitledger.errors import HitledgerError, NothingToReadError
from hitledger.logs.ingest import FileLedger
from hitledger.logs.read import read_logs
from log_reading import FIXTURES, usage

FOLDER = FIXTURES / "hostile"
FIRST, SECOND = (3, 0, 5000, 6), (3, 5003, 40, 6)
CONTROL = "not valid JSON: unexpected control character in string"
DEPTH = "not valid JSON: depth limit exceeded"

# file -> usage of its calls, skipped rows with the beginning of the reason
DAMAGED: dict[str, tuple[list[object], list[tuple[int, str]]]] = {
    "byte-order-mark.jsonl": ([FIRST, SECOND], []),
    "cut-first-row.jsonl": ([FIRST, SECOND], [(1, CONTROL)]),
    "cut-last-row.jsonl": ([FIRST], [(4, "not valid JSON: unexpected end of data")]),
    "cut-row.jsonl": ([FIRST, SECOND], [(3, CONTROL)]),
    "deep.jsonl": ([FIRST, SECOND], [(3, DEPTH), (6, DEPTH)]),
    "deep-arguments.jsonl": ([FIRST, SECOND, (3, 5046, 10, 6), (3, 5059, 20, 6)], []),
    "half-surrogate.jsonl": ([FIRST, SECOND], []),
    "invalid-utf8.jsonl": ([FIRST, SECOND], [(3, "not valid JSON: str is not valid UTF-8")]),
    "nul-bytes.jsonl": ([FIRST, SECOND], [(3, "not valid JSON: unexpected character"), (4, CONTROL)]),
    "truncated.jsonl.gz": ([FIRST, SECOND], [(33, "the rest cannot be read: Compressed file ended")]),
    "whole.jsonl.gz": ([FIRST, SECOND], []),
    "wrong-types.jsonl": (
        [FIRST, SECOND],
        [
            (3, "unexpected content: TypeError: unhashable type: 'dict'"),
            (4, "unexpected content: AttributeError"),
            (5, "unexpected content: TypeError: unhashable type: 'list'"),
            (6, "unexpected content: AttributeError"),
            (8, "unexpected content: KeyError: 'microcompactMetadata'"),
            (9, "unexpected content: TypeError: an attachment that is no object"),
            (10, "a list, not an object"),
            (11, "a int, not an object"),
            (12, "a str, not an object"),
            (13, "a NoneType, not an object"),
        ],
    ),
    "wrong-usage.jsonl": ([None, SECOND], []),
}
REFUSED = {
    "blank.jsonl": "empty",
    "empty.jsonl": "empty",
    "no-log.json": "unknown format; --format names one",
    "no-log.png": "unknown format (line 1: not valid JSON: ",
    "no-log.txt": "unknown format (line 1: not valid JSON: unexpected character",
}


def ledger_of(name: str) -> tuple[list[object], FileLedger]:
    reading = read_logs([str(FOLDER / name)])
    calls = list(reading.calls())
    for call in calls:
        assert len(call.prompt.segments()) == len(call.prompt)
    (ledger,) = reading.ingest.ledgers
    return [usage(call) for call in calls], ledger


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_whole_is_read(name: str) -> None:
    calls, ledger = ledger_of(name)
    expected, skips = DAMAGED[name]
    assert calls == expected
    assert ledger.balanced
    assert [skip.row for skip in ledger.skips] == [row for row, _ in skips]
    for skip, (_, reason) in zip(ledger.skips, skips, strict=True):
        assert skip.reason.startswith(reason)


def test_all_files_have_an_expectation() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*DAMAGED, *REFUSED, "README.md"}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_log_is_refused(name: str) -> None:
    with pytest.raises(NothingToReadError) as caught:
        read_logs([str(FOLDER / name)])
    assert caught.value.exit_code == 3
    assert f"{name}: {REFUSED[name]}" in str(caught.value)


def test_all_together_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)
    reading = read_logs(["hostile"])
    calls = [usage(call) for call in reading.calls()]
    # The good rows are copies of each other, so each call counts once; that one file breaks costs no other.
    assert {FIRST, SECOND, (3, 5046, 10, 6), (3, 5059, 20, 6), None} == set(calls)
    assert all(ledger.balanced for ledger in reading.ingest.ledgers)
    assert {ledger.file for ledger in reading.ingest.ledgers} == {f"hostile/{name}" for name in DAMAGED}
    assert {refusal.file for refusal in reading.ingest.refusals} == {
        *(f"hostile/{name}" for name in REFUSED),
        "hostile/README.md",
    }


def test_a_line_of_50_megabytes(tmp_path: Path) -> None:
    good = (FOLDER / "byte-order-mark.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "long.jsonl"
    with path.open("wb") as out:
        out.writelines((good[0], good[1], b'{"type":"user","uuid":"long","message":{"content":"'))
        for _ in range(50):
            out.write(b"x" * 2**20)
        out.writelines((b'"}}\n', good[2], good[3]))
    reading = read_logs([str(path)])
    assert [usage(call) for call in reading.calls()] == [FIRST, SECOND]
    (ledger,) = reading.ingest.ledgers
    assert [(skip.row, skip.reason) for skip in ledger.skips] == [(3, "line longer than 32 MiB")]
    assert ledger.balanced


def test_a_first_line_of_50_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"x" * (50 * 2**20) + b"\n" + (FOLDER / "byte-order-mark.jsonl").read_bytes()[3:])
    reading = read_logs([str(path)])
    assert [usage(call) for call in reading.calls()] == [FIRST, SECOND]
    assert reading.ingest.ledgers[0].skipped == 1


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.jsonl"
    path.write_bytes((FOLDER / "whole.jsonl.gz").read_bytes())
    real = Path.open

    def refusing(self: Path, *arguments: object, **named: object) -> object:
        if self.name == "secret.jsonl":
            raise PermissionError(13, "Permission denied")
        return real(self, *arguments, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refusing)
    with pytest.raises(NothingToReadError, match=r"secret\.jsonl: cannot be read: Permission denied") as caught:
        read_logs([str(path)])
    assert caught.value.exit_code == 3


def test_a_transcript_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    path.write_bytes((FOLDER / "byte-order-mark.jsonl").read_bytes())
    calls = list(read_logs([str(path)]).calls())
    path.write_bytes(b"overwritten\n" * 200)
    with pytest.raises(HitledgerError, match=r"live\.jsonl: changed while it was read: run again") as caught:
        calls[0].prompt.segments()
    assert caught.value.exit_code == 1


def test_deep_rows_need_no_deep_stack() -> None:
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(300)
        assert ledger_of("deep-arguments.jsonl")[0][0] == FIRST
    finally:
        sys.setrecursionlimit(limit)
