"""A transcript's prompt knows its length and its thinking before it is cut: they are those of its segments."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitledger.audit import AuditOptions, audit
from hitledger.logs import claude_code
from hitledger.logs.files import LogFile
from hitledger.types import Kind
from log_fixtures import made
from log_reading import read

DEEP: Any = "x"
for _ in range(400):
    DEEP = [DEEP]

types = st.sampled_from(
    ["text", "thinking", "redacted_thinking", "reasoning", "tool_use", "tool_result", "image", "", None, 7]
)
values = st.sampled_from(["words", "", None, 3, ["a"], {"b": 1}, DEEP])
blocks = st.fixed_dictionaries({"type": types}, optional={"text": values, "thinking": values, "content": values})
contents = st.one_of(st.lists(st.one_of(blocks, st.just("words"), st.just(5)), max_size=4), st.text(max_size=3))
messages = st.lists(st.tuples(st.booleans(), contents), min_size=1, max_size=8)


def transcript(said: list[tuple[bool, Any]]) -> list[dict[str, Any]]:
    """Rows one behind the other; of each pair an answer (a call) or a message, and what it holds."""
    usage = {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 9_000, "output_tokens": 90}
    rows: list[dict[str, Any]] = []
    for number, (answers, content) in enumerate([*said, (True, "end")]):
        message = {"content": content}
        if answers:
            message |= {"id": f"m{number}", "model": "claude-sonnet-4-5", "usage": usage}
        rows.append(
            {
                "type": "assistant" if answers else "user",
                "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}" if number else None,
                "sessionId": "s",
                "requestId": f"r{number}",
                "timestamp": f"2026-03-02T09:{number:02}:00Z",
                "message": message,
            }
        )
    return rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(messages)
def test_what_is_known_beforehand_is_what_is_cut(tmp_path: Path, said: list[tuple[bool, Any]]) -> None:
    rows = transcript(said)
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for file in (LogFile(path, "session.jsonl"), made(*rows, name="-")):
        for call in read(claude_code, file).calls:
            assert call.prompt.length == len(call.prompt.segments())
            for part in call.prompt.lineage():
                assert part.thinking() == sum(segment.kind is Kind.THINKING for segment in part.own)
    for segments in (True, False):  # with a rule that drops the thinking of finished turns
        found = audit([str(path)], AuditOptions(segments=segments))
        assert len(found.calls) == len({row["message"].get("id") for row in rows} - {None})
