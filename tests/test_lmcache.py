"""LMCache traces: flattened prompts that share the segments of their common beginning."""

import json
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hitledger.logs import lmcache
from hitledger.segments import Layout
from log_reading import fixture, folder, read, written


def test_calls() -> None:
    found = read(lmcache, *folder("lmcache"))
    assert len(found.calls) == 34
    first = found.calls[0]
    assert first.session == "24c817382a29e399b7dac064b923c268"
    assert first.started_at == datetime(2025, 10, 16, 4, 7, 46, 509_217, tzinfo=UTC)
    assert first.prompt.segments()[0].text == "Hi! How can I help you today?"
    assert first.generated_text is not None
    assert first.generated_text.startswith("I just received an order")
    assert first.usage is None


@given(st.text(alphabet="ab \n", max_size=3000), st.text(alphabet="ab \n", max_size=2000))
def test_texts_with_a_common_beginning_share_its_segments(start: str, rest: str) -> None:
    layout = Layout()
    short, long = lmcache.flattened(start, layout).segments(), lmcache.flattened(start + rest, layout).segments()
    assert "".join(segment.text or "" for segment in long) == start + rest
    shared = 0
    for a, b in zip(short, long, strict=False):
        if a.digest != b.digest:
            break
        shared += 1
    assert shared >= len(short) - 1


def test_damage(tmp_path: Path) -> None:
    good = {"timestamp": 1760587666509217, "input": "a", "output": "b", "session_id": "s"}
    rows = [good, {**good, "input": 5}, {**good, "later": 1}, [1], {}]
    text = "\n".join([*map(json.dumps, rows), '{"timestamp": 17'])
    found = read(lmcache, written(tmp_path, "odd.jsonl", text))
    assert len(found.calls) == 2
    assert [row for row, _ in found.skips] == [2, 4, 5, 6]


def test_other_files_are_not_claimed() -> None:
    assert not lmcache.sniff(fixture("bodies/spellings.jsonl"))
