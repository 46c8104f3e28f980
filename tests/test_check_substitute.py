"""The candidate in the place of the baseline: where it stands, what happens to marks, what is left alone."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger.check.material import Material, MaterialKind, material_of_text, material_of_value
from hitledger.check.pairs import pairs_of
from hitledger.check.substitute import Substitution
from hitledger.errors import UsageError
from hitledger.logs.captured.dialect import api_of_shape
from hitledger.parameters import parameters_of
from hitledger.segments import Api, Layout
from hitledger.types import Call, Evidence, Place

MARK = {"cache_control": {"type": "ephemeral"}}
OLD, NEW = "You keep the ledger of a small harbour.", "You keep the ledger of a large harbour."


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object"}} | more


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words} | more


def body(system: Any = OLD, tools: Sequence[Any] = (), messages: Any = None, **more: Any) -> dict[str, Any]:
    messages = messages or [{"role": "user", "content": [text("Which berth is free?", **MARK)]}]
    return {"model": "claude-sonnet-4-5", "system": system, "tools": list(tools), "messages": messages} | more


def call(request: dict[str, Any]) -> Call:
    api = api_of_shape(request) or Api.MESSAGES
    prompt = Layout().prompt(request, api)
    return Call(
        "c", "s", "main", Place("f", 1), "anthropic", "claude-sonnet-4-5", Evidence.EXACT, prompt,
        parameters=parameters_of(request),
    )  # fmt: skip


def put(baseline: Any, candidate: Any, request: dict[str, Any]) -> Call | None:
    pairs = pairs_of([material_of_value(baseline, "", "b")], [material_of_value(candidate, "", "c")])
    return Substitution(pairs).apply(call(request))


def content(found: Call | None) -> list[tuple[str, str | None, str | None]]:
    assert found is not None
    return [(segment.path, segment.text, segment.mark) for segment in found.prompt.segments()]


def test_a_whole_block_keeps_its_mark() -> None:
    found = content(put(OLD, NEW, body([text(OLD, **MARK), text("Be brief.")])))
    assert found[:2] == [("system[0].text", NEW, "5m"), ("system[1].text", "Be brief.", None)]


def test_a_text_inside_a_block_is_replaced_there_alone() -> None:
    found = content(put(OLD, NEW, body(f"First. {OLD} Last.")))
    assert found[0] == ("system", f"First. {NEW} Last.", None)


def test_line_ends_at_the_ends_of_a_file_do_not_count() -> None:
    found = content(put(f"{OLD}\n", f"{NEW}\n\n", body(f"{OLD} Last.")))
    assert found[0][1] == f"{NEW} Last."


def test_a_short_text_is_no_part_of_another_one() -> None:
    assert put("You keep", "You lose", body()) is None
    assert content(put("You keep", "You lose", body("You keep")))[0][1] == "You lose"


def test_what_a_user_says_is_left_alone() -> None:
    assert put(OLD, NEW, body("Another prompt.", messages=[{"role": "user", "content": OLD}])) is None


def test_the_same_object_where_nothing_changes() -> None:
    request = call(body(tools=[tool("a"), tool("b", **MARK)]))
    for one in (OLD, [tool("a"), tool("b")], body(tools=[tool("a"), tool("b")])):
        pairs = pairs_of([material_of_value(one, "", "b")], [material_of_value(one, "", "c")])
        assert Substitution(pairs).apply(request) is request


def test_key_order_of_a_tools_file_does_not_matter_and_the_recorded_text_stays() -> None:
    turned = {"input_schema": {"type": "object"}, "name": "a"}
    found = content(put([turned], [turned, tool("z")], body(tools=[tool("a", **MARK)])))
    assert found[0] == ("tools[0]", '{"name":"a","input_schema":{"type":"object"}}', None)
    assert found[1][0] == "tools[1]"
    assert found[1][2] == "5m"  # the client marks the last tool


@pytest.mark.parametrize(
    ("candidate", "names", "marks"),
    [
        (["a", "x", "b"], "axb", [None, None, "5m"]),
        (["x", "a", "b"], "xab", [None, None, "5m"]),
        (["a", "b", "x"], "abx", [None, None, "5m"]),
        (["b", "a"], "ba", [None, "5m"]),
        (["a"], "a", ["5m"]),
    ],
)
def test_tools_come_and_go(candidate: list[str], names: str, marks: list[str | None]) -> None:
    """The list stands between a tool in front and one behind it, which keep their places."""
    request = body(tools=[tool("first"), tool("a"), tool("b", **MARK), tool("last")])
    found = put([tool("a"), tool("b")], [tool(name) for name in candidate], request)
    assert found is not None
    tools = [segment for segment in found.prompt.segments() if segment.path.startswith("tools")]
    assert [segment.name for segment in tools] == ["first", *names, "last"]
    assert [segment.path for segment in tools] == [f"tools[{number}]" for number in range(len(tools))]
    assert [segment.mark for segment in tools] == [None, *marks, None]


def test_marks_of_the_candidate_win_where_the_two_sides_set_them() -> None:
    old, new = body([text(OLD, **MARK), text("Be brief.")]), body([text(OLD), text("Be brief.", **MARK)])
    found = content(put(old, new, old))
    assert [mark for _, _, mark in found] == [None, "5m", "5m"]


def test_tools_that_are_not_all_there_one_behind_the_other_are_left() -> None:
    baseline = [tool("a"), tool("b")]
    for tools in ([tool("a")], [tool("b"), tool("a")], [tool("a"), tool("x"), tool("b")]):
        assert put(baseline, [tool("z")], body(tools=tools)) is None


def test_of_a_body_only_what_differs_has_to_stand_in_the_prompt() -> None:
    old, new = body(OLD, [tool("a")]), body(NEW, [tool("a")])
    recorded = body(OLD, [tool("other")], [{"role": "user", "content": "Another question"}])
    found = content(put(old, new, recorded))
    assert [segment[1] for segment in found[1:]] == [NEW, "Another question"]
    assert put(old, new, body("Another prompt.", [tool("a")])) is None


def test_parameters_of_a_body() -> None:
    old, new = body(), body(tool_choice={"type": "any"})
    found = put(old, new, body())
    assert found is not None
    assert [(parameter.name, parameter.value) for parameter in found.parameters] == [("tool_choice", '{"type":"any"}')]
    other = put(old, new, body(tool_choice={"type": "none"}))
    assert other is not None
    assert other.parameters[0].value == '{"type":"none"}'


def test_a_body_that_adds_the_system_prompt() -> None:
    plain = {"model": "claude-sonnet-4-5", "tools": [tool("a")], "messages": [{"role": "user", "content": "Hello"}]}
    found = content(put(plain, plain | {"system": NEW}, plain))
    assert [path for path, _, _ in found] == ["tools[0]", "system", "messages[0].content"]


@given(
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=5, unique=True),
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=5, unique=True),
    st.sampled_from([None, 0, -1]),
)
def test_there_and_back_is_the_recorded_prompt(old: list[str], new: list[str], marked: int | None) -> None:
    """Content comes back whole; a mark at the end stays at the end."""
    tools = [tool(name) for name in old]
    if marked is not None:
        tools[marked] = tools[marked] | MARK
    recorded = body(tools=tools)
    baseline, candidate = [tool(name) for name in old], [tool(name) for name in new]
    there = Substitution(pairs_of([material_of_value(baseline, "", "b")], [material_of_value(candidate, "", "c")]))
    back = Substitution(pairs_of([material_of_value(candidate, "", "b")], [material_of_value(baseline, "", "c")]))
    changed = there.apply(call(recorded))
    assert changed is not None
    names = [segment.name for segment in changed.prompt.segments() if segment.path.startswith("tools")]
    assert names == new
    if marked == -1:
        assert changed.prompt.segments()[len(new) - 1].mark == "5m"
    again = back.apply(changed)
    assert again is not None
    assert [segment.digest for segment in again.prompt.segments()] == [
        s.digest for s in call(recorded).prompt.segments()
    ]


def test_kinds_of_files() -> None:
    kinds = [material_of_text(source, "", file).kind for source, file in ((OLD, "a.md"), ('[{"name":"x"}]', "t.json"), ('{"tools":[{"name":"x"}]}', "t.json"), ('{"messages":[{"role":"user","content":"x"}]}', "b.json"))]  # fmt: skip
    assert kinds == [MaterialKind.SYSTEM, MaterialKind.TOOLS, MaterialKind.TOOLS, MaterialKind.BODY]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{\n \"a\": 1,\n}", "p.json:2: not valid JSON"),
        ("[]", "at least one"),
        ("[1]", "holds objects"),
        ("3", "gives int"),
        ("{}", "neither a request body nor a list of tools"),
        ('""', "empty system prompt"),
    ],
)  # fmt: skip
def test_files_that_are_no_prompt(source: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        material_of_text(source, "", "p.json")


def test_two_kinds_are_refused() -> None:
    system, tools = material_of_value(OLD, "", "a.md"), material_of_value([tool("a")], "", "t.json")
    with pytest.raises(UsageError, match="of one kind"):
        pairs_of([system], [tools])
    with pytest.raises(UsageError, match="no file in common"):
        pairs_of([named(system, "a.md")], [named(system, "b.md")])


def named(material: Material, name: str) -> Material:
    return material_of_value(material.text, name, material.file)
