"""Aider's history: whole prompts as text."""

from hitledger.logs import aider
from hitledger.types import Evidence, Kind, Tier
from log_reading import fixture, read

HISTORY = "aider/.aider.llm.history"


def test_prompts_are_exact() -> None:
    found = read(aider, fixture(HISTORY))
    assert [call.place.row for call in found.calls] == [1, 17, 37]
    segments = found.calls[0].prompt.segments()
    assert [segment.text for segment in segments] == [
        "Answer questions about the code.\n\nBe brief.",
        "Here is a map of the repository.\n\nsrc/names.py",
        "Ok.",
        "What does it do?",
    ]
    assert (segments[0].kind, segments[0].tier) == (Kind.SYSTEM, Tier.SYSTEM)
    assert [segment.role for segment in segments] == ["system", "user", "assistant", "user"]
    assert all(call.evidence is Evidence.EXACT and call.usage is None for call in found.calls)


def test_answer_and_times() -> None:
    first, second, cut = read(aider, fixture(HISTORY)).calls
    assert first.generated_text == ("It makes names.\nTO LLM 2025-01-31T11:21:42 is no new block: the line has a role.")
    assert first.started_at
    assert first.ended_at
    assert (first.ended_at - first.started_at).total_seconds() == 5
    assert second.prompt.segments()[0] is first.prompt.segments()[0]  # one copy of the same text
    assert second.prompt.segments()[1].digest != first.prompt.segments()[1].digest
    assert (cut.ended_at, cut.notes) == (None, ("usage_missing", "no_response"))
