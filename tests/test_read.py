"""From inputs to calls: the order, what is refused, progress, --strict."""

import gzip
import json
from pathlib import Path

import pytest

from hitledger.audit import audit
from hitledger.errors import HitledgerError, NothingToReadError, UsageError
from hitledger.logs.read import read_logs
from hitledger_reports.view.caveats import warnings
from log_reading import FIXTURES

TRANSCRIPT = FIXTURES / "hostile/whole.jsonl.gz"
ROLLOUTS = FIXTURES / "codex/sessions/2026"


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a rollout, a transcript, a note and an empty file."""
    (tmp_path / "b.jsonl.gz").write_bytes(TRANSCRIPT.read_bytes())
    (tmp_path / "a.jsonl").write_bytes(next(ROLLOUTS.rglob("*c.jsonl")).read_bytes())
    (tmp_path / "note.txt").write_text("Dear harbour master")
    (tmp_path / "empty.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_format_by_format_in_input_order(inputs: Path) -> None:
    reading = read_logs(["."])
    assert [(call.place.file, call.place.row) for call in reading.calls()] == [
        ("a.jsonl", 6),
        ("b.jsonl.gz", 2),
        ("b.jsonl.gz", 4),
    ]
    assert [(ledger.file, ledger.format) for ledger in reading.ingest.ledgers] == [
        ("a.jsonl", "codex"),
        ("b.jsonl.gz", "claude-code"),
    ]
    assert [refusal.file for refusal in reading.ingest.refusals] == ["empty.jsonl", "note.txt"]
    assert [refusal.reason[:14] for refusal in reading.ingest.refusals] == ["empty", "unknown format"]
    assert [call.place.file for call in read_logs(["b.jsonl.gz", "."]).calls()] == ["b.jsonl.gz"] * 2 + ["a.jsonl"]


def test_a_named_format_reads_everything_with_one_reader(inputs: Path) -> None:
    reading = read_logs(["."], format="codex")
    assert len(list(reading.calls())) == 1
    assert {ledger.format for ledger in reading.ingest.ledgers} == {"codex"}
    assert all(ledger.balanced for ledger in reading.ingest.ledgers)
    with pytest.raises(UsageError, match="no log format is called 'x'"):
        read_logs(["."], format="x")


def test_nothing_to_read_says_why(inputs: Path) -> None:
    with pytest.raises(NothingToReadError) as caught:
        read_logs(["empty.jsonl", "note.txt", "gone.jsonl"])
    assert caught.value.exit_code == 3
    assert [line.split(":")[0].strip() for line in str(caught.value).splitlines()] == [
        "nothing to read",
        "gone.jsonl",
        "empty.jsonl",
        "note.txt",
    ]


def test_only_the_first_reasons_are_listed(inputs: Path) -> None:
    with pytest.raises(NothingToReadError, match=r"(?s)nothing to read\n(  none\d: .*\n){5}  and 3 more$"):
        read_logs([f"none{number}" for number in range(8)])


def test_rows_without_a_call(inputs: Path) -> None:
    (inputs / "idle.jsonl").write_text('{"type":"summary","leafUuid":"1","summary":"x"}\nbroken\n')
    (inputs / "quiet.jsonl").write_text('{"type":"summary","leafUuid":"1","summary":"x"}\n')
    reading = read_logs(["idle.jsonl", "quiet.jsonl"])
    with pytest.raises(NothingToReadError) as caught:
        list(reading.calls())
    assert str(caught.value).splitlines() == [
        "nothing to read: no call in 3 rows (1 of them damaged)",
        "  idle.jsonl:2: not valid JSON: unexpected character, expected a JSON value: line 1 column 1 (char 0)",
        "  quiet.jsonl: no call in it, read as claude-code; --format names another",
    ]


def test_strict(inputs: Path) -> None:
    with pytest.raises(HitledgerError, match=r"empty.jsonl: empty \(--strict\)") as caught:
        read_logs(["."], strict=True)
    assert caught.value.exit_code == 1
    (inputs / "cut.jsonl").write_bytes(gzip.decompress(TRANSCRIPT.read_bytes())[:-9])
    with pytest.raises(HitledgerError, match=r"cut.jsonl:4: not valid JSON.*\(--strict\)"):
        list(read_logs(["cut.jsonl"], strict=True).calls())


def test_progress_ends_at_the_total(inputs: Path) -> None:
    (inputs / "many.jsonl").write_bytes(
        b"".join(
            b'{"type":"assistant","sessionId":"s","parentUuid":null,"uuid":"u%d","message":{"id":"m%d","model":"m",'
            b'"usage":{"input_tokens":1,"output_tokens":1}},"requestId":"r"}\n' % (number, number)
            for number in range(300)
        )
    )
    ticks: list[tuple[int, int]] = []
    reading = read_logs(["many.jsonl"], progress=lambda done, total: ticks.append((done, total)))
    assert len(list(reading.calls())) == 300
    size = (inputs / "many.jsonl").stat().st_size
    assert ticks[-1] == (size, size)
    assert len(ticks) == 3
    assert all(done <= total == size for done, total in ticks)


KINDS = {
    "transcript": "claude-code/placeholder-output/**/*.jsonl",
    "rollout": "codex/sessions/**/*c.jsonl",
    "bodies": "bodies/anthropic.jsonl",
    "document": "atif/trajectory.json",
    "capture": "har/chat.har",
    "spans": "otel/new-names.json",
    "values": "langfuse/agno-nested.trace.json",
    "records": "check/traffic/openai-short.jsonl",
}


def beside_another(tmp_path: Path, name: str, content: bytes) -> Path:
    """A file between two good ones, so that what is wrong with it may not reach them."""
    for good in ("a.jsonl", "z.jsonl"):
        (tmp_path / good).write_bytes((FIXTURES / "bodies/spellings.jsonl").read_bytes())
    damaged = tmp_path / name
    damaged.write_bytes(content)
    return damaged


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "capture"])  # a capture is kept from its detection
def test_a_file_that_vanishes_after_it_was_found_is_a_skipped_row(tmp_path: Path, kind: str) -> None:
    """Agents rotate and delete their logs while they are read."""
    source = next(FIXTURES.glob(KINDS[kind]))
    gone = beside_another(tmp_path, f"m{source.suffix}", source.read_bytes())
    reading = read_logs([str(tmp_path)], progress=lambda done, total: None)
    assert str(gone) in {file.name for _, files in reading.claimed for file in files}
    gone.unlink()
    (tmp_path / "z.jsonl").touch()
    assert {call.place.file for call in reading.calls()} == {str(tmp_path / good) for good in ("a.jsonl", "z.jsonl")}
    (lost,) = (ledger for ledger in reading.ingest.ledgers if ledger.file == str(gone))
    assert (lost.rows, lost.skipped, lost.balanced) == (1, 1, True)
    assert "No such file" in lost.skips[0].reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_compressed_file_that_was_cut_is_a_skipped_row(tmp_path: Path, kind: str) -> None:
    """One that is still being written, whatever the shape of what is in it."""
    source = next(FIXTURES.glob(KINDS[kind]))
    cut = gzip.compress(source.read_bytes())[:-6]
    damaged = beside_another(tmp_path, f"m{source.suffix}.gz", cut)
    reading = read_logs([str(tmp_path)])
    assert {call.place.file for call in reading.calls()} >= {str(tmp_path / good) for good in ("a.jsonl", "z.jsonl")}
    (lost,) = (ledger for ledger in reading.ingest.ledgers if ledger.file == str(damaged))
    assert lost.skipped
    assert "ended before" in lost.skips[-1].reason
    assert lost.balanced


@pytest.mark.parametrize("later", ["atif/trajectory.json", "bodies/anthropic.jsonl", "scenarios/02-date-rollover.json"])
def test_a_file_that_changed_is_read_anew_in_the_same_process(tmp_path: Path, later: str) -> None:
    """A notebook or a test run reads the same log again and again while it grows."""
    log, fresh = tmp_path / "log.json", tmp_path / "fresh.json"
    log.write_bytes(next(FIXTURES.glob("opencode/storage/part/*/*.json")).read_bytes())
    with pytest.raises(NothingToReadError):
        list(read_logs([str(log)]).calls())
    for path in (log, fresh):
        path.write_bytes((FIXTURES / later).read_bytes())
    again = [call.id for call in read_logs([str(log)]).calls()]
    assert again == [call.id.replace(str(fresh), str(log)) for call in read_logs([str(fresh)]).calls()]


def test_calls_that_two_formats_hold_are_named(tmp_path: Path) -> None:
    """A transcript and the body of its only request: both are read, and the second says so."""
    answer, sent = "msg_01AAAAAAAAAAAAAAAAAAAAAA", "2026-03-01T00:00:00Z"
    usage = {"input_tokens": 1000, "output_tokens": 5}
    message = {"id": answer, "model": "claude-opus-4-5", "role": "assistant", "content": [], "usage": usage}
    row = {"uuid": "a", "parentUuid": None, "sessionId": "s", "timestamp": sent, "type": "assistant"}
    (tmp_path / "a.jsonl").write_text(
        json.dumps(row | {"message": message, "requestId": "req_011CAAAAAAAAAAAAAAAAAAAA"})
    )
    request = {"model": "claude-opus-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": "go"}]}
    (tmp_path / "b.jsonl").write_text(json.dumps({"timestamp": sent, "request": request, "response": message}))
    found = audit([str(tmp_path)])
    assert {file.format for file in found.ingest.files} == {"claude-code", "bodies"}
    assert sorted("in_two_formats" in call.notes for call in found.calls) == [False, True]
    assert "1 call that another format of these logs holds too: counted twice. Audit one of the two." in warnings(found)
    alone = audit([str(tmp_path / "b.jsonl")])
    assert not any("in_two_formats" in call.notes for call in alone.calls)
