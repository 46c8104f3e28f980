"""Which reader reads a file, and that every file of the fixtures has exactly one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hitledger.errors import NothingToReadError, UsageError
from hitledger.logs import detect as detection
from hitledger.logs.detect import detect
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.registry import DISTINCT, Reader, distinct_readers, reader_of, readers
from hitledger.types import Call
from log_reading import FIXTURES

FOLDERS = ("claude-code", "codex", "hostile")
LOGS = sorted(path for path in FIXTURES.rglob("*") if path.suffix in (".json", ".jsonl", ".gz"))


def reader(name: str, claims: Callable[[LogFile], bool]) -> Reader:
    def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
        yield from ()

    return Reader(name, claims, read)


def test_formats_are_named_once() -> None:
    names = [found.format for found in readers()]
    assert len(set(names)) == len(names)
    assert [found.format for found in distinct_readers()] == ["claude-code", "codex"]
    assert set(DISTINCT) < {"claude_code", "codex", "bodies"}
    assert reader_of("codex").format == "codex"


def test_an_unknown_format_name_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no log format is called 'kodex'; there are: .*claude-code.*codex") as caught:
        reader_of("kodex")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("folder", ["claude-code", "codex"])
def test_no_other_reader_claims_what_a_distinct_one_does(folder: str) -> None:
    logs = sorted((FIXTURES / folder).rglob("*.jsonl"))
    assert logs
    for path in logs:
        file = LogFile(path, path.name)
        assert [found.format for found in readers() if found.sniff(file)] == [folder], path


def test_the_distinct_readers_claim_no_other_format() -> None:
    for path in LOGS:
        if path.relative_to(FIXTURES).parts[0] not in FOLDERS:
            assert not any(found.sniff(LogFile(path, path.name)) for found in distinct_readers()), path


def test_two_claims_name_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "readers", lambda: (reader("one", lambda _: True), reader("two", lambda _: True)))
    file = LogFile(None, "-", b'{"a":1}')
    with pytest.raises(NothingToReadError, match=r"^read by one and two: say which with --format$"):
        detect(file)


def test_a_reader_that_breaks_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(file: LogFile) -> bool:
        raise TypeError("unhashable")

    monkeypatch.setattr(detection, "readers", lambda: (reader("one", breaks), reader("two", lambda _: True)))
    assert detect(LogFile(None, "-", b'{"a":1}')).format == "two"


def test_a_format_that_is_named_is_not_asked() -> None:
    assert detect(LogFile(None, "-", b"anything"), "codex").format == "codex"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "^empty$"),
        (b" \n\n", "^empty$"),
        (b"Dear harbour master", r"^unknown format \(line 1: not valid JSON: .*\); --format names one$"),
        (b'{"buoys": 2}', "^unknown format; --format names one$"),
        (b'{\n  "buoys": 2\n}\n', "^unknown format; --format names one$"),
        (b'{\n  "buoys": 2,\n}\n', r"^unknown format \(line 1: not valid JSON: .*\); --format names one$"),
    ],
)
def test_why_not(content: bytes, reason: str) -> None:
    with pytest.raises(NothingToReadError, match=reason) as caught:
        detect(LogFile(None, "-", content))
    assert caught.value.exit_code == 3


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match=r"^cannot be read: No such file or directory$"):
        detect(LogFile(tmp_path / "gone", "gone"))
