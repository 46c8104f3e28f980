"""SWE-agent and mini-swe-agent trajectories."""

from decimal import Decimal

from hitledger.logs import mini_swe_agent, swe_agent
from hitledger.types import Evidence, Kind
from log_reading import fixture, read, usage


def test_steps_without_their_prompt_are_rebuilt_from_the_history() -> None:
    found = read(swe_agent, fixture("swe-agent/test-repo/1c2844.traj"))
    assert len(found.calls) == 5
    assert all(call.evidence is Evidence.RECONSTRUCTED and call.model == "gpt-4o" for call in found.calls)
    assert [len(call.prompt) for call in found.calls] == [3, 6, 9, 12, 15]  # a text, a call and a result a step
    assert found.calls[0].prompt.segments()[0].kind is Kind.HIDDEN
    total = "total of the run: api_calls 5, tokens_sent 7141, tokens_received 243, instance_cost 0.019520000000000006"
    assert dict(found.ledgers[0].notes) == {total: 1}


def test_steps_that_keep_their_prompt_are_exact() -> None:
    found = read(swe_agent, fixture("swe-agent/query/run.traj"))
    assert [call.evidence for call in found.calls] == [Evidence.EXACT] * 2
    texts = [segment.text for segment in found.calls[1].prompt.segments()]
    assert texts == ["One command at a time.", "Fix it.", "List.\n```\nls\n```", "a.py"]
    assert found.calls[0].events == ("user_turn",)


def test_mini_answers_carry_the_usage() -> None:
    found = read(mini_swe_agent, fixture("mini-swe-agent/run.traj.json"))
    assert [usage(call) for call in found.calls] == [(1200, 0, None, 30), (276, 1024, None, 30)]
    assert [call.logged_cost for call in found.calls] == [Decimal("0.0012"), Decimal("0.0009")]
    assert [[parameter.value for parameter in call.route] for call in found.calls] == [['"OpenAI"'], ['"Azure"']]
    assert [segment.path for segment in found.calls[1].prompt.segments()] == [
        *("messages[0].content", "messages[1].content", "messages[2].content", "messages[3].content")
    ]
    assert all(call.evidence is Evidence.EXACT and call.provider == "openrouter" for call in found.calls)
    assert found.calls[0].session == "repo-1"


def test_bare_list_of_the_first_version() -> None:
    found = read(mini_swe_agent, fixture("mini-swe-agent/bare.traj.json"))
    assert [len(call.prompt) for call in found.calls] == [2, 4]
    assert found.known == {"system message": 1, "user message": 3}
