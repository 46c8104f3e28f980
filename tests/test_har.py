"""HAR: times of each call, streams in base64, refused and other requests."""

import json
from datetime import UTC, datetime
from pathlib import Path

from hitledger.logs import bodies, har
from log_reading import FIXTURES, fixture, read, usage, written


def test_calls() -> None:
    found = read(har, fixture("har/chat.har"))
    chat, responses, refused = found.calls
    assert [usage(call) for call in found.calls] == [(58, 1152, None, 6), (166, 1024, None, 6), None]
    assert refused.status == 429
    assert chat.started_at == datetime(2026, 5, 4, 8, tzinfo=UTC)
    assert chat.first_token_at == datetime(2026, 5, 4, 8, 0, 0, 750_000, tzinfo=UTC)  # connect + send + wait
    assert chat.ended_at == datetime(2026, 5, 4, 8, 0, 2, 100_000, tzinfo=UTC)
    assert chat.generated_text == "Berth 4 is free."
    assert {call.session for call in found.calls} == {"harbour-har"}
    assert responses.provider == "openai"
    assert found.known == {"no model call": 1}
    assert [call.place.row for call in found.calls] == [1, 3, 4]


def test_no_secret_is_kept() -> None:
    printed = repr(read(har, fixture("har/chat.har")).calls)
    assert "not-a-real" not in printed
    assert "not-real" not in printed


def test_only_archives_are_claimed(tmp_path: Path) -> None:
    assert har.sniff(fixture("har/chat.har"))
    assert not bodies.sniff(fixture("har/chat.har"))
    assert not har.sniff(written(tmp_path, "a.json", '{"log": {"entries": 5}}'))
    assert not har.sniff(written(tmp_path, "b.json", '{"log": "text"}'))


def test_damage(tmp_path: Path) -> None:
    document = json.loads((FIXTURES / "har/chat.har").read_text())
    entries = document["log"]["entries"]
    entries[0]["response"]["content"]["text"] = "%%% not base64"
    entries[1] = "a string"
    entries[2]["timings"] = {"wait": -1}
    entries[2]["startedDateTime"] = 12
    entries[2]["unknownField"] = {"new": True}
    found = read(har, written(tmp_path, "odd.har", json.dumps(document)))
    assert [usage(call) for call in found.calls] == [None, (166, 1024, None, 6), None]
    assert found.calls[0].notes == ("body_not_base64", "usage_missing")
    assert (found.calls[1].first_token_at, found.calls[1].notes) == (None, ("start_estimated",))
    assert found.skips == [(2, "an entry without a request")]


def test_a_truncated_archive_gives_the_entries_before_the_cut(tmp_path: Path) -> None:
    text = (FIXTURES / "har/chat.har").read_text()
    found = read(har, written(tmp_path, "cut.har", text[: text.rindex("rate_limit_error")]))
    assert [usage(call) for call in found.calls] == [(58, 1152, None, 6), (166, 1024, None, 6)]
    assert found.skips == [(4, "the file ends inside this record")]


def test_an_empty_archive(tmp_path: Path) -> None:
    file = written(tmp_path, "empty.har", '{"log": {"version": "1.2", "entries": []}}')
    assert har.sniff(file)
    assert read(har, file).ledgers[0].rows == 0
