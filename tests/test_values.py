"""Values of a file: lines, one document, many documents; cut and damaged ones."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger.logs import values as module
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger
from hitledger.logs.values import closed, opening, values

OBJECTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6), lambda x: st.lists(x, max_size=3)
    ),
    max_size=4,
)


def file(content: bytes) -> LogFile:
    return LogFile(None, "x", content)


def read(content: bytes) -> tuple[list[tuple[int, Any, bool]], FileLedger]:
    ledger = FileLedger("x", "")
    found = [(value.number, value.data, value.cut) for value in values(file(content), ledger)]
    return found, ledger


@given(st.lists(OBJECTS, max_size=5), st.sampled_from([None, 1, 2]))
def test_any_documents_one_after_the_other(objects: list[Any], indent: int | None) -> None:
    found, ledger = read("".join(json.dumps(value, indent=indent) + "\n" for value in objects).encode())
    assert [value for _, value, _ in found] == objects
    assert (ledger.rows, ledger.skipped) == (0, 0)


def test_number_is_the_line_a_value_starts_on() -> None:
    found, _ = read(b'\xef\xbb\xbf{\n "a": 1\n}\n\n{"b": 2}\n[\n3]\n')
    assert found == [(1, {"a": 1}, False), (5, {"b": 2}, False), (6, [3], False)]


def test_separators_are_known_and_text_is_skipped() -> None:
    found, ledger = read(b'# made by x\n===== record 1 =====\n{"a":1}\nhello\n')
    assert [value for _, value, _ in found] == [{"a": 1}]
    assert ledger.known_rows == {"separator": 2}
    assert [(skip.row, skip.reason) for skip in ledger.skips] == [(4, "not valid JSON")]


def test_a_broken_line_does_not_swallow_the_next() -> None:
    found, ledger = read(b'{"a":[1,2\n{"b":"unclosed\n{"c":3}\n{"d":4]}\n{"e":5}\n')
    assert [value for _, value, _ in found] == [{"c": 3}, {"e": 5}]
    assert [skip.row for skip in ledger.skips] == [1, 2, 4]


def test_a_cut_document_gives_what_stands_before_the_cut() -> None:
    found, ledger = read(b'{"spans":[{"id":1,"n":"a,b"},{"id":2,"n":"c')
    assert found == [(1, {"spans": [{"id": 1, "n": "a,b"}, {"id": 2}]}, True)]
    assert ledger.rows == 0


def test_strings_longer_than_a_piece_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_BYTES", 7)
    content = json.dumps({"text": 'a "quoted" [bracket\\' * 9, "n": [1]}).encode()
    found, _ = read(content + b"\n" + content)
    assert [value for _, value, _ in found] == [json.loads(content)] * 2


def test_too_large_a_value_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DOCUMENT_BYTES", 30)
    monkeypatch.setattr(module, "LINE_BYTES", 10)
    found, ledger = read(b'{"a":"' + b"x" * 50 + b'"}\n{"b":1}\n')
    assert [value for _, value, _ in found] == [{"b": 1}]
    assert [skip.reason for skip in ledger.skips] == ["larger than 0 MiB"]


@given(OBJECTS, st.data())
def test_closing_at_any_byte_gives_json_or_fails_to_parse_only_inside_a_word(value: Any, data: st.DataObject) -> None:
    content = json.dumps({"k": value}).encode()
    cut = data.draw(st.integers(1, len(content)))
    assert isinstance(orjson.loads(closed(content[:cut])), dict)


def test_opening_of_a_document_larger_than_the_head() -> None:
    content = json.dumps({"id": 1, "rows": [{"x": "y" * 100}] * 2000}).encode()
    first = opening(file(content))
    assert first["id"] == 1
    assert len(first["rows"]) == 591  # of 111 bytes each


@pytest.mark.parametrize(
    "content", [b"", b"plain text", b"{", b"[", b'"text"', b"\x1f\x8b broken", b"{]", b"[" * 70000]
)
def test_opening_never_raises(content: bytes) -> None:
    assert opening(file(content)) in (None, {}, [])


def test_brackets_without_end_are_bounded() -> None:
    found, ledger = read(b"[" * 3_000_000)
    assert found == []
    assert [skip.reason for skip in ledger.skips] == ["nested deeper than 1024"]
    assert ledger.balanced


def test_a_list_with_one_element_a_line_is_one_value() -> None:
    found, ledger = read(b'[\n{"a": 1},\n{"a": {"b":\n{"c": 2}}}\n]\n{"a": 3}\n')
    assert [data for _, data, _ in found] == [[{"a": 1}, {"a": {"b": {"c": 2}}}], {"a": 3}]
    assert ledger.rows == 0
