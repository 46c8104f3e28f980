"""Compressed logs: whole, of many frames, cut, and bombs."""

import gzip
import io
from pathlib import Path

import pytest
import zstandard

from hitledger.logs import packed
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger
from hitledger.logs.packed import unpacked

ROWS = b"".join(b'{"number": %d, "text": "%s"}\n' % (i, (b"%x" % (i * 7919 + 13)) * 40) for i in range(4000))


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(ROWS, id="plain"),
        pytest.param(gzip.compress(ROWS), id="gzip"),
        pytest.param(gzip.compress(ROWS[:999]) + gzip.compress(ROWS[999:]), id="gzip, two members"),
        pytest.param(zstd(ROWS), id="zstd"),
        pytest.param(zstd(ROWS[:999]) + zstd(ROWS[999:]), id="zstd, two frames"),
        pytest.param(b"", id="empty"),
    ],
)
def test_what_was_packed_comes_out(content: bytes) -> None:
    with unpacked(io.BytesIO(content)) as stream:
        assert stream.read() == (ROWS if content else b"")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.gz", gzip.compress(ROWS), "Compressed file ended before the end-of-stream marker was reached"),
        ("a.zst", zstd(ROWS), "the file ends inside a zstd frame"),
    ],
)
def test_of_a_cut_file_what_stands_before_the_cut_is_read_and_the_cut_is_said(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content[: len(content) * 3 // 4])
    ledger = FileLedger(name, "")
    numbers = [row.data["number"] for row in LogFile(path, name).rows(ledger)]
    assert len(numbers) > 1000
    assert numbers == list(range(len(numbers)))
    assert ledger.skips[-1].reason == f"the rest cannot be read: {reason}"
    assert ledger.rows == len(numbers) + ledger.skipped


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_bomb_is_not_unpacked_to_its_end(pack: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE_EXPANSION", 2**20)
    bomb = pack(b"\n" * (64 * 2**20))  # type: ignore[operator]
    with (
        unpacked(io.BytesIO(bomb)) as stream,
        pytest.raises(EOFError, match="unpacks to more than 200 times its size"),
    ):
        stream.read()


def test_a_small_file_may_unpack_to_far_more_than_it_takes() -> None:
    content = gzip.compress(b"\n" * (8 * 2**20))
    assert len(content) * 200 < 8 * 2**20
    with unpacked(io.BytesIO(content)) as stream:
        assert len(stream.read()) == 8 * 2**20


def test_reading_ends_where_line_after_line_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "blank.jsonl"
    path.write_bytes(b'{"number": 0}\n' + b"\n" * 150_000 + b'{"number": 1}\n')
    ledger = FileLedger("blank.jsonl", "")
    assert [row.number for row in LogFile(path, "blank.jsonl").rows(ledger)] == [1]
    assert [(skip.row, skip.reason) for skip in ledger.skips] == [
        (100_003, "the rest cannot be read: 100,000 lines in a row hold no JSON")
    ]
    assert ledger.rows == 1 + ledger.skipped
