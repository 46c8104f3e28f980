"""pi sessions: the tree, compactions, aborted requests, copies."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from hitledger.logs import pi
from hitledger.types import Evidence, Kind
from log_reading import CORPUS, fixture, read, usage, written

SESSION = "pi/--work-pi-mono--/2025-11-20_d703a1a9.jsonl"
TREE = "pi/--work-project--/2026-05-12_019e19b4.jsonl"


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/work"}


def message(entry: str, parent: str | None, role: str, **fields: object) -> dict[str, object]:
    inner = {
        "role": role,
        "content": [{"type": "text", "text": f"{role} {entry}"}],
        "timestamp": 1767225600000,
        **fields,
    }
    return {"type": "message", "id": entry, "parentId": parent, "timestamp": "2026-01-01T00:00:01Z", "message": inner}


def answer(entry: str, parent: str | None, **fields: object) -> dict[str, object]:
    counted = {"input": 3, "output": 5, "cacheRead": 100, "cacheWrite": 7, "cost": {"total": 0.25}}
    return message(entry, parent, "assistant", usage=counted, model="claude-sonnet-4-5", responseId=entry, **fields)


def test_real_session() -> None:
    found = read(pi, fixture(SESSION))
    assert [usage(call) for call in found.calls[:6]] == [
        (3, 0, 1684, 191),
        (7, 1684, 9518, 231),
        (7, 11202, 5526, 2838),
        (5, 16728, 2887, 316),
        (3, 0, 19964, 68),  # 567 s later: everything is written again
        (6, 19964, 1557, 1755),
    ]
    assert found.calls[0].logged_cost == Decimal("0.009189")
    assert found.known["aborted before any usage"] == 1
    assert found.calls[0].started_at
    assert found.calls[0].started_at.isoformat() == "2025-11-20T23:33:50.793000+00:00"
    assert found.calls[0].ended_at
    assert found.calls[0].ended_at.isoformat() == "2025-11-20T23:33:54.572000+00:00"
    assert found.calls[10].notes == ("aborted",)  # stopped by the user, yet its prompt was counted
    assert all(call.provider == "anthropic" and call.api == "messages" for call in found.calls)


def test_prompt_grows_by_what_was_said() -> None:
    calls = read(pi, fixture(SESSION)).calls
    first, second = calls[0].prompt.segments(), calls[1].prompt.segments()
    assert [segment.kind for segment in first] == [Kind.HIDDEN, Kind.TEXT, Kind.TEXT]
    assert [segment.digest for segment in second[:3]] == [segment.digest for segment in first]
    assert [segment.kind for segment in second[3:]] == [Kind.TEXT, *[Kind.TOOL_USE] * 3, *[Kind.TOOL_RESULT] * 3]
    assert second[3].path == "[5].message.content[0].text"
    assert calls[0].evidence is Evidence.RECONSTRUCTED


def test_compaction_keeps_from_the_entry_it_names(tmp_path: Path) -> None:
    rows = [HEADER, message("u1", None, "user"), answer("a1", "u1"), message("u2", "a1", "user"), answer("a2", "u2")]
    rows.append({"type": "compaction", "id": "c1", "parentId": "a2", "summary": "so far", "firstKeptEntryId": "u2"})
    rows += [message("u3", "c1", "user"), answer("a3", "u3")]
    call = read(pi, written(tmp_path, "s.jsonl", lines(*rows))).calls[2]
    assert [(segment.role, segment.chars) for segment in call.prompt.segments()[1:]] == [
        ("user", len("so far")),
        ("user", len("user u2")),
        ("assistant", len("assistant a2")),
        ("user", len("user u3")),
    ]
    assert call.events == ("compaction", "user_turn")


def test_branch_goes_on_from_its_parent(tmp_path: Path) -> None:
    rows = [HEADER, message("u1", None, "user"), answer("a1", "u1"), message("u2", "a1", "user"), answer("a2", "u2")]
    rows += [message("u3", "a1", "user"), answer("a3", "u3")]
    calls = read(pi, written(tmp_path, "s.jsonl", lines(*rows))).calls
    assert len(calls[2].prompt) == len(calls[1].prompt)
    assert calls[2].prompt.segments()[:3] == calls[1].prompt.segments()[:3]
    assert calls[2].events == ("rewind", "user_turn")


def test_forked_session_counts_its_own_requests_only(tmp_path: Path) -> None:
    rows = [HEADER, message("u1", None, "user"), answer("a1", "u1")]
    fork = [{**HEADER, "id": "s2"}, *rows[1:], message("u2", "a1", "user"), answer("a2", "u2")]
    found = read(pi, written(tmp_path, "a.jsonl", lines(*rows)), written(tmp_path, "b.jsonl", lines(*fork)))
    assert [call.session for call in found.calls] == ["s1", "s2"]
    assert found.known["copied from another session"] == 1


def test_openclaw_has_no_usage() -> None:
    found = read(pi, fixture("pi/openclaw/small.jsonl"))
    assert [call.usage for call in found.calls] == [None] * 3
    assert all("usage_missing" in call.notes for call in found.calls)
    assert found.calls[0].parameters[0].value == '"high"'


def test_small_tree() -> None:
    found = read(pi, fixture(TREE))
    assert [usage(call) for call in found.calls] == [(12, 0, 0, 7)] * 2
    assert found.calls[1].events == ("compaction", "user_turn")
    assert found.calls[1].api == "chat"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
def test_large_session() -> None:
    from hitledger.logs.files import LogFile

    path = CORPUS / "pi/badlogic__pi-mono__fixtures__large-session.jsonl"
    calls = read(pi, LogFile(path, path.name)).calls
    used = [call.usage for call in calls if call.usage]
    reads = sum(each.cache_read_tokens or 0 for each in used)
    assert (len(calls), len(used)) == (439, 439)
    assert round(reads / sum(each.input_tokens for each in used), 4) == 0.9096
    assert round(sum(call.logged_cost or Decimal(0) for call in calls), 2) == Decimal("30.33")
