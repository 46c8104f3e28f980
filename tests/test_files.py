"""A log file as rows: line numbers, compression, limits, damage that is said."""

import gzip
import io
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from hitledger.errors import HitledgerError, NothingToReadError
from hitledger.logs import files
from hitledger.logs.files import LogFile, row_value, row_values
from hitledger.logs.ingest import FileLedger
from log_reading import written

LINES = b'{"a":1}\n\n  \n[2]\n{"b":3}'


def rows(file: LogFile, strict: bool = False) -> tuple[list[tuple[int, object]], FileLedger]:
    ledger = FileLedger(file.name, "", strict)
    return [(row.number, row.data) for row in file.rows(ledger)], ledger


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_rows_keep_their_line_numbers(tmp_path: Path, pack: object) -> None:
    file = written(tmp_path, "log", pack(LINES))  # type: ignore[operator]
    found, ledger = rows(file)
    assert found == [(1, {"a": 1}), (4, [2]), (5, {"b": 3})]
    assert (ledger.rows, ledger.skipped, ledger.bytes_read) == (3, 0, len(LINES))
    assert rows(LogFile(None, "-", pack(LINES)))[0] == found  # type: ignore[operator]
    assert file.is_plain() is (pack is bytes)


def test_each_row_says_where_it_starts(tmp_path: Path) -> None:
    file = written(tmp_path, "log", LINES)
    ledger = FileLedger("log", "")
    found = 0
    for _, data, line, start in file.decoded(ledger, row_values):
        assert LINES[start : start + len(line)] == line
        assert row_value(line) == data
        found += 1
    assert (found, ledger.bytes_read) == (3, len(LINES))


@pytest.mark.parametrize("batch", [0, 9, 20, 1000])
def test_lines_are_the_same_however_many_are_decoded_at_once(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BATCH_BYTES", batch)
    monkeypatch.setattr(files, "MAX_ROW_BYTES", 30)
    long = b'{"x":"' + b"y" * 40 + b'"}\n'
    content = b'{"a":1}\n\n{"a":2}\n' + long + b'{"a":3}\n{"a":\n[4]\n' + long + long + b'{"a":5}\n' + long[:-1]
    ledger = FileLedger("-", "")
    found = [(number, line) for number, _, line, _ in LogFile(None, "-", content).decoded(ledger, row_values)]
    assert found == [(1, b'{"a":1}\n'), (3, b'{"a":2}\n'), (5, b'{"a":3}\n'), (7, b"[4]\n"), (10, b'{"a":5}\n')]
    assert [skip.row for skip in ledger.skips] == [4, 6, 8, 9, 11]
    assert (ledger.rows, ledger.bytes_read) == (10, len(content))


@pytest.mark.parametrize("batch", [0, 9, 1000])
@pytest.mark.parametrize("most", [30, 10_000])  # bytes of a row: fewer than the file has, and more
def test_lines_of_short_files_are_read_as_those_of_long_ones(
    batch: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BATCH_BYTES", batch)
    monkeypatch.setattr(files, "MAX_ROW_BYTES", most)
    content = b'\n{"a":1}\r\n\n{"a":2}\r{"a":\n{"a":3}\n\x00\n{"a":4}'
    ledger = FileLedger("-", "")
    found = [(row[0], row[3]) for row in LogFile(None, "-", content).decoded(ledger, row_values)]
    assert found == [(2, 1), (5, 25), (7, 35)]
    assert [skip.row for skip in ledger.skips] == [4, 6]
    assert (ledger.rows, ledger.bytes_read) == (5, len(content))
    assert list(files._batches(io.BytesIO(b""))) == []


def test_many_frames(tmp_path: Path) -> None:
    frames = zstandard.compress(b'{"a":1}\n') + zstandard.compress(b'{"b":2}\n')
    assert [data for _, data in rows(written(tmp_path, "log.zst", frames))[0]] == [{"a": 1}, {"b": 2}]


def test_a_bad_row_is_counted_with_its_reason() -> None:
    found, ledger = rows(LogFile(None, "-", b'{"a":1}\n{"b":\n7\n"x"\nnull\n{"c":2}\n'))
    assert found == [(1, {"a": 1}), (6, {"c": 2})]
    assert (ledger.rows, ledger.skipped) == (6, 4)
    assert [(skip.row, skip.reason.split(":")[0]) for skip in ledger.skips] == [
        (2, "not valid JSON"),
        (3, "a int, not an object"),
        (4, "a str, not an object"),
        (5, "a NoneType, not an object"),
    ]


def test_strict_names_file_and_line() -> None:
    with pytest.raises(HitledgerError, match=r"^-:2: not valid JSON: .*\(--strict\)$") as caught:
        rows(LogFile(None, "-", b'{"a":1}\n{"b":\n'), strict=True)
    assert caught.value.exit_code == 1


def test_a_line_over_the_limit_is_skipped_and_the_rest_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ROW_BYTES", 100)
    long = b'{"x":"' + b"y" * 450 + b'"}\n'
    found, ledger = rows(LogFile(None, "-", b'{"a":1}\n' + long + b'{"b":2}\n' + long[:-1]))
    assert found == [(1, {"a": 1}), (3, {"b": 2})]
    assert [skip.row for skip in ledger.skips] == [2, 4]
    assert "longer than" in ledger.skips[0].reason


def test_more_than_a_file_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 20)
    monkeypatch.setattr(files, "BATCH_BYTES", 0)
    found, ledger = rows(LogFile(None, "-", b'{"a":1}\n' * 9))
    assert len(found) == 3
    assert (ledger.rows, ledger.skips[0].row) == (4, 4)


def test_a_truncated_archive_gives_what_comes_before(tmp_path: Path) -> None:
    content = b"".join(b'{"number":%d,"square":%d}\n' % (n, n * n) for n in range(2000))
    found, ledger = rows(written(tmp_path, "log.gz", gzip.compress(content)[:-200]))
    assert [data for _, data in found] == [{"number": n, "square": n * n} for n in range(len(found))]
    assert 1000 < len(found) < 2000
    assert ledger.rows == len(found) + 1
    assert "the rest cannot be read" in ledger.skips[0].reason


def test_halves_of_surrogate_pairs_are_mended() -> None:
    assert row_value(rb'{"a":"x\ud83d"}') == {"a": "x\ufffd"}
    assert row_value(rb'{"a":"\udc00x\ud83d\ude00\ude00"}') == {"a": "\ufffdx\U0001f600\ufffd"}


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=4))
def test_any_object_is_read_as_it_was_written(value: dict[str, str]) -> None:
    import json

    assert row_value(json.dumps(value).encode()) == {str(_mended(key)): _mended(text) for key, text in value.items()}


def _mended(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def test_head_rows_of_a_printed_document_are_none() -> None:
    assert LogFile(None, "-", b'{\n  "a": {"b": 1}\n}\n').head_rows() == ()
    assert LogFile(None, "-", LINES).head_rows() == ({"a": 1}, [2], {"b": 3})


def test_head_rows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(LogFile(None, "-", b'{"a":1}\n' * 50).head_rows()) == files.HEAD_ROWS
    monkeypatch.setattr(files, "HEAD_ROW_BYTES", 20)
    assert len(LogFile(None, "-", b'{"a":2}\n' * 50).head_rows()) == 3
    assert LogFile(None, "-", b"not json\n" * 50 + b'{"a":1}\n').head_rows() == ()


def test_document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert LogFile(None, "-", b'\xef\xbb\xbf[\n {"a": 1}\n]').document() == [{"a": 1}]
    with pytest.raises(NothingToReadError, match="many JSON values"):
        LogFile(None, "two", b'{"a":1}\n{"b":1}\n').document()
    with pytest.raises(NothingToReadError, match="not valid JSON"):
        LogFile(None, "text", b"Dear harbour master").document()
    with pytest.raises(NothingToReadError, match="cannot be read: Compressed file ended"):
        written(tmp_path, "cut.gz", gzip.compress(b'{"a":1}')[:-4]).document()
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 10)
    with pytest.raises(NothingToReadError, match="larger than"):
        LogFile(None, "large", b'{"a":"0123456789"}').document()


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match="gone: cannot be read: No such file") as caught:
        LogFile(tmp_path / "gone", "gone").readable_head()
    assert caught.value.exit_code == 3
