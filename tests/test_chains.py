"""Whom a call continues."""

from typing import Any

from msgspec.structs import replace

from call_builders import call, messages
from hitledger.chains import Chains, Link, linked, loose_digest
from hitledger.segments import Api, Layout, hidden
from hitledger.types import Call, Evidence, Kind, Place, Prompt, Tier, prompt_of


def link(*bodies: dict[str, Any], **fields: Any) -> list[Link]:
    chains = Chains()
    return [chains.link(call(body, number, **fields)) for number, body in enumerate(bodies)]


def test_the_first_call_is_a_cold_start() -> None:
    (only,) = link(messages("a"))
    assert only.predecessor is None
    assert not only.side


def test_a_growing_conversation_follows_the_latest() -> None:
    found = link(messages("a"), messages("a", "b", "c"), messages("a", "b", "c", "d", "e"))
    assert [row.predecessor for row in found] == [None, 0, 1]
    assert [row.index_in_session for row in found] == [0, 1, 2]


def test_an_edited_message_still_continues_the_latest() -> None:
    found = link(messages("a"), messages("a", "b", "c"), messages("a", "B", "c", "d", "e"))
    assert found[2].predecessor == 1


def test_a_side_question_is_nobody_s_predecessor() -> None:
    """Call 2 asks for a title over the same history; call 3 goes on from call 1."""
    found = link(
        messages("a"),
        messages("a", "b", "c"),
        messages("a", "b", "c", "d", "give a title"),
        messages("a", "b", "c", "d", "e"),
    )
    assert found[3].predecessor == 1


def test_going_back_continues_the_call_before_the_branch() -> None:
    found = link(
        messages("a"),
        messages("a", "b", "c"),
        messages("a", "b", "c", "d", "e"),
        messages("a", "x", "y"),
    )
    assert found[3].predecessor == 0


def test_a_call_that_shares_nothing_starts_a_side_chain() -> None:
    found = link(messages("a", "b", "c"), messages("Is this a new topic?", system="Answer with yes or no."))
    assert found[1].predecessor is None
    assert found[1].side


def test_a_summary_request_that_repeats_the_history_follows_it() -> None:
    text = "The lock keeper counts seventeen barges on the northern canal today."
    found = link(messages(text, "noted", "go on"), messages(f"Summarise: {text}", system="You summarise."))
    assert found[1].predecessor == 0
    assert found[1].side


def test_after_a_compaction_the_same_head_is_followed_and_not_the_summary_request() -> None:
    text = "The lock keeper counts seventeen barges on the northern canal today."
    found = link(
        messages(text, "noted", "go on"),
        messages(f"Summarise: {text}", system="You summarise."),
        messages("Summary: seventeen barges."),
    )
    assert found[2].predecessor == 0


def test_refused_calls_are_nobody_s_predecessor() -> None:
    chains = Chains()
    chains.link(call(messages("a"), 0))
    refused = chains.link(call(messages("a", "b", "c"), 1, status=400))
    after = chains.link(call(messages("a", "b", "c"), 2))
    assert (refused.predecessor, after.predecessor) == (0, 0)


def test_agents_and_sessions_count_for_themselves() -> None:
    chains = Chains()
    chains.link(call(messages("a"), 0))
    other_agent = chains.link(call(messages("a", "b", "c"), 1, agent="helper"))
    other_session = chains.link(call(messages("a", "b", "c"), 2, session="t"))
    assert other_agent.predecessor is None
    assert other_session.predecessor is None
    assert other_agent.index_in_session == 1


def transcript(prompt: Prompt, number: int) -> Call:
    place = Place("t.jsonl", number + 1)
    return Call(f"t{number}", "s", "main", place, "anthropic", "claude-opus-5", Evidence.RECONSTRUCTED, prompt)


def test_a_transcript_follows_the_prompt_that_it_extends() -> None:
    layout = Layout(keep_text=False)
    parts = [layout.text(text, Kind.TEXT, Tier.MESSAGES, "p", "user") for text in "abcd"]
    root = prompt_of((hidden(),))
    first = root.extend((parts[0],))
    second = first.extend((parts[1],))
    branch = first.extend((parts[2],))
    begun_anew = root.extend((parts[3],))
    chains = Chains()
    found = [chains.link(transcript(p, i)) for i, p in enumerate((first, second, branch, begun_anew))]
    assert [row.predecessor for row in found] == [None, 0, 0, 2]


def test_loose_digest_does_not_see_ids_or_key_order() -> None:
    def tool_call(call_id: str, arguments: str) -> bytes:
        body = {
            "model": "m",
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": call_id, "function": {"name": "f", "arguments": arguments}}],
                }
            ],
        }
        return loose_digest(Layout().prompt(body, Api.CHAT).segments()[0])

    same = tool_call("1", '{"a": 1, "b": 2}')
    assert tool_call("2", '{"b": 2, "a": 1}') == same
    assert tool_call("1", '{"a": 1, "b": 3}') != same


def test_a_session_in_several_files_is_followed_in_order_of_time() -> None:
    """`app.jsonl` holds the newer half and is read before `app.jsonl.1`."""
    texts = ["a", "b", "c", "d", "e", "f", "g"]
    sent = [call(messages(*texts[: 2 * n + 1]), n) for n in range(4)]
    placed = [replace(one, place=Place(f"app.jsonl{'' if n > 1 else '.1'}", n + 1)) for n, one in enumerate(sent)]
    found = linked([placed[2], placed[3], placed[0], placed[1]])
    assert [link.predecessor for link in found] == [3, 0, None, 2]
    assert [(link.index, link.index_in_session) for link in found] == [(0, 2), (1, 3), (2, 0), (3, 1)]


def test_a_file_alone_keeps_its_order() -> None:
    """Its times can be those of the answers."""
    calls = [call(messages("a", "b", "c"), 1), call(messages("a"), 0)]
    assert [link.index_in_session for link in linked(calls)] == [0, 1]
