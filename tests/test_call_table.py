"""Rows that are made when they are looked at are those that a file of them holds."""

from pathlib import Path

import msgspec
import pytest

from hitledger.audit import AuditOptions, audit
from hitledger.call_columns import COLUMNS
from hitledger.call_table import CallTable
from hitledger.columns import columns, groups, part, taken
from hitledger.results import CallResult, from_json, to_json

FIXTURES = Path(__file__).parent.parent / "fixtures"
LOGS = ("claude-code/real-session", "codex", "scenarios", "bodies")
OF_SEGMENTS = {"segments": (), "shared_segments": 0, "common_prefix_tokens": None}


def table_of(log: str) -> CallTable:
    found = audit([str(FIXTURES / log)], AuditOptions(segments=False, rows=False)).calls
    assert isinstance(found, CallTable)
    return found


def test_there_is_a_column_for_every_field() -> None:
    assert set(COLUMNS) == set(CallResult.__struct_fields__)


@pytest.mark.parametrize("log", LOGS)
def test_rows_are_the_same_with_and_without_a_file(log: str) -> None:
    whole = audit([str(FIXTURES / log)], AuditOptions(segments=True)).calls
    bare = tuple(msgspec.structs.replace(call, **OF_SEGMENTS) for call in whole)
    assert tuple(table_of(log)) == bare
    assert table_of(log) == bare


def test_a_row_is_made_by_itself_or_of_all() -> None:
    table = table_of("claude-code/real-session")
    first, last = table[0], table[-1]  # before all are made
    assert (first, last) == (table.rows()[0], table.rows()[-1])
    assert table[1:3] == table.rows()[1:3]
    with pytest.raises(IndexError):
        table[len(table)]


def test_a_part_has_its_rows_and_columns() -> None:
    table = table_of("claude-code/real-session")
    (ids,) = columns(table, "id")
    for indices in ([], [2], [1, 2, 3], [0, 3, 5]):
        found = part(table, indices)
        (own,) = columns(found, "id")  # taken from the whole
        (costs,) = columns(found, "cost")  # made for the part
        assert own == [ids[index] for index in indices]
        assert [row.id for row in found] == own
        assert costs == [table.rows()[index].cost for index in indices]
        assert len(found) == len(indices)


def test_rows_can_be_a_plain_sequence_too() -> None:
    rows = table_of("claude-code/real-session").rows()
    assert columns(rows, "id", "index") == [[row.id for row in rows], [row.index for row in rows]]
    assert part(rows, [0, 2]) == [rows[0], rows[2]]


def test_indices_by_key_and_values_by_indices() -> None:
    assert groups(["b", "a", "b"]) == {"b": [0, 2], "a": [1]}
    assert taken("abcdef", (1, 2, 3)) == "bcd"
    assert taken("abcdef", (1, 3)) == ["b", "d"]
    assert taken("abcdef", ()) == []


def test_an_audit_whose_rows_were_not_made_is_written_and_read() -> None:
    found = audit([str(FIXTURES / "claude-code" / "real-session")], AuditOptions(rows=False))
    written = to_json(found)
    back = from_json(written, "a.json")
    assert (to_json(back), back) == (written, found)
