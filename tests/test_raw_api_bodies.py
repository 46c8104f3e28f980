"""Claude Code's folder of raw bodies, with and without its index."""

import itertools
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree

import pytest

from hitledger.logs import bodies, raw_api_bodies
from hitledger.logs.files import LogFile
from log_reading import FIXTURES, folder, read, usage, written

WITH, WITHOUT = "claude-code-raw-bodies/with-index", "claude-code-raw-bodies/without-index"
MAIN = [(12, 0, 1310, 60), (118, 1310, 0, 9), (139, 1310, 0, 8)]
TITLE = (40, 0, 0, 4)


def copied(name: str, tmp_path: Path) -> list[LogFile]:
    copytree(FIXTURES / name, tmp_path / "copy")
    return [LogFile(path, f"copy/{path.name}") for path in sorted((tmp_path / "copy").iterdir())]


def test_every_file_is_claimed_by_this_reader_alone() -> None:
    for file in (*folder(WITH), *folder(WITHOUT)):
        assert raw_api_bodies.sniff(file), file.name
        assert not bodies.sniff(file), file.name


def test_the_index_gives_order_time_session_and_purpose() -> None:
    found = read(raw_api_bodies, *folder(WITH))
    assert [usage(call) for call in found.calls] == [MAIN[0], TITLE, MAIN[1], MAIN[2]]
    assert [call.id for call in found.calls] == ["req_01", "req_90", "req_02", "req_03"]
    assert [call.purpose for call in found.calls] == ["", "title", "", ""]
    assert [call.agent for call in found.calls] == ["main", "side", "main", "main"]
    assert {call.session for call in found.calls} == {"66666666-7777-8888-9999-000000000000"}
    assert found.calls[1].started_at == datetime(2026, 5, 4, 8, 1, tzinfo=UTC)
    assert all(call.notes == ("start_estimated",) for call in found.calls)
    assert found.known == {"index entry": 4, "answer of a call": 4}


def test_without_the_index_answers_are_joined_by_what_is_quoted() -> None:
    found = read(raw_api_bodies, *folder(WITHOUT))
    assert [usage(call) for call in found.calls] == [*MAIN, TITLE]
    assert [call.id for call in found.calls] == ["req_01", "req_02", "req_03", "req_90"]
    assert {call.session for call in found.calls} == {"66666666-7777-8888-9999-000000000000"}
    assert all(call.started_at is None for call in found.calls)


def test_prompts_extend_each_other() -> None:
    calls = read(raw_api_bodies, *folder(WITHOUT)).calls
    for earlier, later in itertools.pairwise(calls[:3]):
        before = [segment.digest for segment in earlier.prompt.segments()]
        assert [segment.digest for segment in later.prompt.segments()][: len(before)] == before


def test_an_answer_that_is_missing_leaves_a_call_without_usage(tmp_path: Path) -> None:
    files = copied(WITH, tmp_path)
    found = read(raw_api_bodies, *(file for file in files if "req_02" not in file.name))
    assert [usage(call) for call in found.calls] == [MAIN[0], TITLE, None, MAIN[2]]
    assert found.calls[2].notes == ("start_estimated", "usage_missing")


def test_a_request_that_is_missing_is_a_skipped_row_of_the_index(tmp_path: Path) -> None:
    files = [file for file in copied(WITH, tmp_path) if "aaaa0002" not in file.name]
    found = read(raw_api_bodies, *files)
    assert [usage(call) for call in found.calls] == [MAIN[0], TITLE, MAIN[2]]
    assert found.skips == [(3, "names a request file that is not there")]
    assert found.known["answer whose request is not known"] == 1


@pytest.mark.parametrize("content", ["[1]", '{"model": "claude', ""])
def test_a_damaged_body_is_skipped(content: str, tmp_path: Path) -> None:
    files = [file for file in copied(WITHOUT, tmp_path) if "aaaa0003" not in file.name]
    found = read(raw_api_bodies, *files, written(tmp_path, "copy/aaaa0003.request.json", content))
    assert next(usage(call) for call in found.calls) == MAIN[0]
    assert len(found.skips) == 1
    assert len(found.calls) == 3


def test_a_copied_folder_counts_once() -> None:
    found = read(raw_api_bodies, *folder(WITH), *folder(WITHOUT))
    assert [usage(call) for call in found.calls] == [MAIN[0], TITLE, MAIN[1], MAIN[2]]
    assert found.known["same call"] == 4


@pytest.mark.parametrize("name", [WITH, WITHOUT])
def test_a_body_nested_too_deeply_is_skipped(name: str, tmp_path: Path) -> None:
    files = copied(name, tmp_path)
    deep = '{"model": "m", "messages": [{"role": "user", "content": [{"y": ' + "[" * 400 + "]" * 400 + "}]}]}"
    (tmp_path / "copy" / "aaaa0001.request.json").write_text(deep)
    found = read(raw_api_bodies, *files)
    assert len(found.calls) == 3
    assert found.skips[0][1].startswith("the body cannot be laid out")
