"""Each cause by a pair of requests that shows it, through the whole audit; twins without the fault show nothing."""

from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from call_builders import audited, call, messages, usage
from hitledger.segments import Api, Layout
from hitledger.types import Call, EngineHint, Evidence, Parameter

LONG = "The clerk writes each arrival into the book, with the hour, the berth and the draught. " * 60


def judged(first: dict[str, Any], second: dict[str, Any], **fields: Any) -> tuple[str, str]:
    """Cause and path of the second call, which reads nothing of the 2,000 tokens that the first one wrote."""
    one = call(first, 0, used=usage(3, 0, 2000), **fields)
    two = call(second, 1, used=usage(3, 0, 2100), **fields)
    (found,) = audited(one, two).breaks
    assert (found.readable_before, found.lost_tokens, found.rebilled_tokens) == (2000, 2000, 2000)
    return found.cause, found.path


def grown(body: dict[str, Any]) -> dict[str, Any]:
    """The same conversation, one exchange longer, the mark moved on."""
    body = deepcopy(body)
    body["messages"][-1]["content"][-1].pop("cache_control", None)
    body["messages"] += [
        {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
        {"role": "user", "content": [{"type": "text", "text": "Next.", "cache_control": {"type": "ephemeral"}}]},
    ]
    return body


BASE = messages("a", "b", "c", "d", "e", system=LONG, tools=("berth", "crane", "pilot"))


def changed(**parts: Any) -> dict[str, Any]:
    return {**grown(BASE), **parts}


def with_message(index: int, content: Any) -> dict[str, Any]:
    body = grown(BASE)
    body["messages"][index] = {**body["messages"][index], "content": content}
    return body


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": f"The tool {name}.", "input_schema": schema}


ORDERED = {**BASE, "tools": [tool("berth", type="object", required=[])]}
REORDERED = {
    **grown(BASE),
    "tools": [{"name": "berth", "description": "The tool berth.", "input_schema": {"required": [], "type": "object"}}],
}


@pytest.mark.parametrize(
    ("second", "cause", "path"),
    [
        (changed(system=LONG.replace("berth", "lock", 1)), "system.volatile_text", "system"),
        (changed(system="Another clerk does other work now, at night."), "system.swapped", "system"),
        (changed(system=LONG + "\nbranch: main\nM notes/a.txt\n"), "system.env_state", "system"),
        (changed(tools=BASE["tools"][::-1]), "tools.reordered", "tools[0]"),
        (changed(tools=BASE["tools"][:2]), "tools.set_changed", "tools[2]"),
        (
            changed(tools=[tool("berth", type="object"), *BASE["tools"][1:]]),
            "tools.text_changed",
            "tools[0].input_schema.type",
        ),
        (with_message(1, [{"type": "text", "text": "B"}]), "messages.edited_in_place", "messages[1].content[0].text"),
        (with_message(1, [{"type": "text", "text": " b"}]), "messages.whitespace", "messages[1].content[0].text"),
        (changed(thinking={"type": "enabled", "budget_tokens": 2048}), "param.thinking", "thinking"),
        (changed(output_config={"effort": "low"}), "param.effort", "output_config.effort"),
        (changed(tool_choice={"type": "any"}), "param.tool_choice", "tool_choice"),
        (changed(speed="fast"), "param.speed", "speed"),
        (changed(model="claude-opus-5-5"), "model.changed", "model"),
    ],
)
def test_one_change(second: dict[str, Any], cause: str, path: str) -> None:
    assert judged(BASE, second) == (cause, path)


def test_key_order_is_its_own_cause() -> None:
    assert judged(ORDERED, REORDERED) == ("tools.key_order", "tools[0].input_schema")


def test_a_time_is_seen_only_where_both_have_one() -> None:
    old = messages("a", system=LONG + "Now: 2026-08-04 09:00")
    new = messages("a", "b", "c", system=LONG + "Now: 2026-08-04 09:01")
    assert judged(old, new)[0] == "system.volatile_time"


def test_an_id_of_equal_length() -> None:
    old = messages("a", system=LONG + "Session 3f2a9c1e77b04d21 is open.")
    new = messages("a", "b", "c", system=LONG + "Session 9b1c44d0aa3e5f68 is open.")
    assert judged(old, new)[0] == "system.volatile_id"


def test_trimmed_head() -> None:
    new = grown(BASE)
    new["messages"] = new["messages"][2:]
    assert judged(BASE, new)[0] == "messages.head_trimmed"


def test_moved_block() -> None:
    note = {"type": "text", "text": "Reminder: the tide turns at noon."}
    old, new = deepcopy(BASE), grown(BASE)
    old["messages"][0]["content"].insert(0, note)
    new["messages"][-1]["content"].insert(0, note)
    assert judged(old, new)[0] == "messages.block_moved"


def test_dropped_reasoning() -> None:
    old, new = deepcopy(BASE), grown(BASE)
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    old["messages"][1]["content"].insert(0, thought)
    assert judged(old, new) == ("messages.reasoning_dropped", "messages[1].content[0]")


def test_pruned_result() -> None:
    def body(text: str) -> dict[str, Any]:
        made = deepcopy(BASE)
        made["messages"][1]["content"] = [{"type": "tool_use", "id": "t1", "name": "berth", "input": {}}]
        made["messages"][2]["content"] = [{"type": "tool_result", "tool_use_id": "t1", "content": text}]
        return made

    assert judged(body("Berth 4 is free until six."), grown(body("[cut]"))) == (
        "messages.tool_result_pruned",
        "messages[2].content[0].content",
    )


def test_dropped_marks() -> None:
    new = grown(BASE)
    new["messages"][-1]["content"][-1].pop("cache_control")
    assert judged(BASE, new)[0] == "client.marker_dropped"


def test_marks_that_never_meet() -> None:
    """The first request marked its end, the next marks only the system prompt."""
    new = grown(BASE)
    new["messages"][-1]["content"][-1].pop("cache_control")
    new["system"] = [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}]
    old = {**deepcopy(BASE), "system": [{"type": "text", "text": LONG}]}
    assert judged(old, new)[0] == "breakpoint.misplaced"


@pytest.mark.parametrize(
    ("name", "cause"),
    [("account", "routing.account"), ("upstream", "routing.provider_flip"), ("replica", "routing.replica")],
)
def test_routes(name: str, cause: str) -> None:
    def route(value: str) -> tuple[Parameter, ...]:
        return (Parameter(name, f"response.{name}", value),)

    one = call(BASE, 0, used=usage(3, 0, 2000), route=route('"x"'))
    two = call(grown(BASE), 1, used=usage(3, 0, 2100), route=route('"y"'))
    (found,) = audited(one, two).breaks
    assert (found.cause, found.path, found.before, found.after) == (cause, f"response.{name}", '"x"', '"y"')
    healthy = call(grown(BASE), 1, used=usage(3, 2000, 100), route=route('"x"'))
    assert audited(one, healthy).breaks == ()


def test_a_served_model_that_differs() -> None:
    one = call(BASE, 0, used=usage(3, 0, 2000), served_model="claude-opus-5")
    two = call(grown(BASE), 1, used=usage(3, 0, 2100), served_model="claude-sonnet-5")
    (found,) = audited(one, two).breaks
    assert (found.cause, found.path) == ("model.changed", "response.model")


def test_retokenized_history() -> None:
    """The engine holds 40 prompt + 8 generated ids; the next prompt differs from the 41st on."""
    engine = EngineHint("local", 16, caches_generated_tokens=True)
    fields: dict[str, Any] = {"provider": "", "api": Api.CHAT, "engine": engine}
    first, second = tuple(range(40)), (*range(40), 7, 7, 7)
    one = call(
        {"model": "m"}, 0, used=usage(40, 0, output=8), prompt_ids=first, generated_ids=tuple(range(40, 48)), **fields
    )
    two = call({"model": "m"}, 1, used=usage(11, 32), prompt_ids=second, **fields)
    layout = Layout()
    calls = [replace(c, prompt=layout.token_ids(c.prompt_ids)) for c in (one, two)]
    (found,) = audited(*calls).breaks
    assert (found.cause, found.readable_before, found.lost_tokens) == ("tokenizer.bpe_boundary", 48, 8)


def test_another_shape_of_the_same_text() -> None:
    new = grown(BASE)
    new["messages"][0]["content"] = "a"
    assert judged(BASE, new) == ("messages.shape_changed", "messages[0].content")


def test_nothing_explains_it() -> None:
    assert judged(BASE, grown(BASE))[0] == "unexplained"


@pytest.mark.parametrize(
    ("evidence", "note"),
    [
        (Evidence.EXACT, "nothing in the payload, the parameters, the time or the route explains it"),
        (
            Evidence.RECONSTRUCTED,
            "nothing that the log has explains it; what the log lacks of the prompt (system prompt, tools) may have changed",
        ),
        (
            Evidence.USAGE_ONLY,
            "nothing that the log has explains it; the prompt, which may have changed, is not in the log",
        ),
    ],
)
def test_what_the_log_lacks_is_not_said_to_be_unchanged(evidence: Evidence, note: str) -> None:
    calls = call(BASE, 0, used=usage(3, 0, 2000)), call(grown(BASE), 1, used=usage(3, 0, 2100))
    (found,) = audited(*(replace(one, evidence=evidence) for one in calls)).breaks
    assert (found.cause, found.note) == ("unexplained", note)


def test_a_change_after_the_lifetime_is_said_to_come_late() -> None:
    """Mending the change alone would not have kept an entry of five minutes over ten."""
    body = changed(system=LONG.replace("clerk", "mate"))
    for seconds, note in (
        (290.0, ""),
        (600.0, "the entry had likely expired as well: 600 s since the last use, lifetime 300 s"),
    ):
        calls = call(BASE, 0, at=0.0, used=usage(3, 0, 2000)), call(body, 1, at=seconds, used=usage(3, 0, 2100))
        (found,) = audited(*calls).breaks
        assert (found.cause.partition(".")[0], found.note) == ("system", note)


def test_a_default_that_is_named_changes_nothing() -> None:
    assert judged(BASE, changed(tool_choice={"type": "auto"}))[0] == "unexplained"


def test_a_change_behind_the_last_mark_is_no_cause() -> None:
    old, new = deepcopy(BASE), grown(BASE)
    old["messages"][2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    old["messages"][-1]["content"][-1].pop("cache_control")
    new["messages"][4]["content"][0]["text"] = "E!"
    assert judged(old, new)[0] == "unexplained"


def test_the_earlier_of_two_changes_is_the_cause() -> None:
    edited = LONG.replace("book", "log", 1)
    assert judged(BASE, changed(system=edited, tool_choice={"type": "any"})) == ("system.volatile_text", "system")
    assert judged(BASE, changed(speed="fast", tools=BASE["tools"][:2]))[0] == "tools.set_changed"


def test_a_healthy_call_is_no_break() -> None:
    one, two = call(BASE, 0, used=usage(3, 0, 2000)), call(grown(BASE), 1, used=usage(3, 2000, 100))
    assert audited(one, two).breaks == ()


def test_an_unreported_read_is_no_zero() -> None:
    """The log says nothing of reads: only what the request shows can be a break."""
    one, two = call(BASE, 0, used=usage(2000, None, 0)), call(grown(BASE), 1, used=usage(2100, None, 0))
    assert audited(one, two).breaks == ()


def finding(*calls: Call) -> list[tuple[int, str, str]]:
    return [(row.index, row.cause, row.path) for row in audited(*calls).findings]


def test_refused_for_the_order_of_lifetimes() -> None:
    body = deepcopy(BASE)
    body["tools"][0]["cache_control"] = {"type": "ephemeral"}
    body["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    assert finding(call(body, 0, status=400)) == [(0, "breakpoint.ttl_order", "messages[0].content[0].text")]


def test_refused_for_a_mark_on_thinking() -> None:
    body = deepcopy(BASE)
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s", "cache_control": {"type": "ephemeral"}}
    body["messages"][1]["content"].insert(0, thought)
    assert finding(call(body, 0, status=400)) == [(0, "breakpoint.invalid", "messages[1].content[0]")]


def test_no_marks_at_all() -> None:
    def unmarked(body: dict[str, Any]) -> dict[str, Any]:
        body = deepcopy(body)
        body["messages"][-1]["content"][-1].pop("cache_control")
        return body

    calls = [call(unmarked(BASE), 0, used=usage(2000, 0)), call(unmarked(grown(BASE)), 1, used=usage(2100, 0))]
    assert finding(*calls) == [(1, "breakpoint.missing", "messages")]


def test_written_and_never_read() -> None:
    calls = [call(messages(f"Question {n}", system=LONG), n, used=usage(3, 0, 1500), session=f"s{n}") for n in range(3)]
    assert finding(*calls) == [(0, "breakpoint.on_volatile_tail", "messages[0].content[0].text")]


def test_a_shorter_lifetime_than_before() -> None:
    one = call(BASE, 0, used=usage(3, 0, 2000, ttl="1h"))
    two = call(grown(BASE), 1, used=usage(3, 2000, 100))
    assert finding(one, two) == [(1, "ttl.tier_downgrade", "usage")]


@pytest.mark.parametrize(("reason", "agrees"), [("system_changed", True), ("tools_changed", False), (None, None)])
def test_the_provider_s_own_reason_is_shown_beside_ours(reason: str | None, agrees: bool | None) -> None:
    one = call(BASE, 0, used=usage(3, 0, 2000))
    two = call(changed(system=LONG + "Day: 2026-08-04"), 1, used=usage(3, 0, 2100), provider_reason=reason)
    (found,) = audited(one, two).breaks
    assert (found.provider_reason, found.agrees_with_provider) == (reason, agrees)
