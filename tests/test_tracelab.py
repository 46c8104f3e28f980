"""TraceLab rounds: usage in both conventions and times, no text."""

from datetime import UTC, datetime

from hitledger.logs.files import LogFile
from hitledger.types import Evidence
from log_fixtures import claims, content_of, figures, read
from log_reading import fixture

ROUNDS = fixture("tracelab/round_trace.jsonl")


def test_rounds() -> None:
    calls, ledger = read("tracelab", ROUNDS)
    assert claims(ROUNDS) == ["tracelab"]
    assert (ledger.rows, ledger.calls) == (8, 8)
    assert [figures(call) for call in calls[:2]] == [(2892, 27217, {"": 2163}, 931), (2, 29380, {"": 6358}, 1016)]
    assert [figures(call) for call in calls[4:6]] == [
        (2412, 6912, None, 444),
        (317, 9600, None, 94),
    ]  # Codex: 9324, 9917
    assert {call.evidence for call in calls} == {Evidence.USAGE_ONLY}
    assert [call.provider for call in calls] == ["anthropic"] * 4 + ["openai"] * 4
    assert calls[0].started_at == datetime(2026, 6, 1, 5, 40, 20, 151000, tzinfo=UTC)
    assert calls[0].events == ("user_turn",)
    assert calls[1].started_at == datetime(2026, 6, 1, 5, 40, 50, 938000, tzinfo=UTC)
    assert calls[1].events == ()


def test_the_form_for_readers_has_separators() -> None:
    lines = [line for line in content_of(ROUNDS).splitlines() if line]
    content = b"# Sanitized example.\n" + b"".join(b"===== round =====\n" + line + b"\n" for line in lines)
    file = LogFile(None, "expanded", content)
    assert claims(file) == ["tracelab"]
    calls, ledger = read("tracelab", file)
    assert (len(calls), ledger.known_rows) == (8, {"separator": 9})


def test_copies_count_once() -> None:
    assert len(read("tracelab", ROUNDS, ROUNDS)[0]) == 8
