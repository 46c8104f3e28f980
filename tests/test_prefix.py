"""The first difference: by segments, by leaf, by character."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from call_builders import messages
from hitledger.prefix import (
    APPEND_ONLY,
    common_characters,
    common_segments,
    first_difference,
    first_leaf,
    segments_from,
)
from hitledger.segments import Api, Layout
from hitledger.types import Prompt, prompt_of


def prompt(body: dict[str, Any], api: Api = Api.MESSAGES) -> Prompt:
    return Layout().prompt(body, api)


@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_common_characters_equals_a_walk(old: str, new: str) -> None:
    walked = 0
    while walked < min(len(old), len(new)) and old[walked] == new[walked]:
        walked += 1
    assert common_characters(old, new) == walked


def test_appending_is_no_difference() -> None:
    found = first_difference(prompt(messages("a")), prompt(messages("a", "b", "c")))
    assert found.path == APPEND_ONLY
    assert found.append_only
    assert found.index == 2  # system and the first message


def test_a_moved_mark_is_no_difference() -> None:
    first, second = messages("a"), messages("a", "b", "c")
    assert "cache_control" in first["messages"][0]["content"][0]
    assert "cache_control" not in second["messages"][0]["content"][0]
    assert first_difference(prompt(first), prompt(second)).append_only


def test_changed_system_text_gives_the_character() -> None:
    found = first_difference(prompt(messages("a", system="Day 11.")), prompt(messages("a", system="Day 12.")))
    assert (found.path, found.char_offset, found.index) == ("system", 5, 0)
    assert (found.leaf_before, found.leaf_after) == ("Day 11.", "Day 12.")


def test_changed_tool_gives_the_leaf() -> None:
    old = messages("a", tools=("one", "two"))
    new = messages("a", tools=("one", "two"))
    new["tools"][1]["description"] = "The tool too."
    found = first_difference(prompt(old), prompt(new))
    assert (found.path, found.char_offset) == ("tools[1].description", 10)


def test_key_order_inside_a_schema_is_found_at_the_object() -> None:
    old, new = messages("a", tools=("one",)), messages("a", tools=("one",))
    old["tools"][0]["input_schema"] = {"type": "object", "required": []}
    new["tools"][0]["input_schema"] = {"required": [], "type": "object"}
    assert first_difference(prompt(old), prompt(new)).path == "tools[0].input_schema"


def test_a_removed_tool_is_found_where_it_stood() -> None:
    found = first_difference(prompt(messages("a", tools=("one",))), prompt(messages("a")))
    assert found.path == "tools[0]"
    assert found.leaf_after is None


def test_a_new_tool_is_found_where_it_stands() -> None:
    found = first_difference(prompt(messages("a")), prompt(messages("a", tools=("one",))))
    assert (found.path, found.leaf_before) == ("tools[0]", None)


def test_a_shorter_prompt_ends_where_the_earlier_one_goes_on() -> None:
    found = first_difference(prompt(messages("a", "b", "c")), prompt(messages("a")))
    assert found.path == "messages[1].content[0].text"
    assert found.after is None


def test_leaf_of_nested_values() -> None:
    assert first_leaf({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "x") == "x.a[1].b"
    assert first_leaf({"a": 1}, {"a": 1, "b": 2}, "x") == "x.b"
    assert first_leaf([1], [1, 2], "x") == "x[1]"
    assert first_leaf(1, 1, "x") == "x"


class Untouchable(Prompt):
    """A part of a transcript that must not be looked at."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name == "own":
            raise AssertionError("a shared part was looked at")
        return super().__getattribute__(name)


def test_what_two_prompts_of_a_transcript_share_is_not_looked_at() -> None:
    segments = prompt(messages("a", "b", "c")).segments()
    shared = Untouchable(segments[:2], None, 2)
    earlier = shared.extend(segments[2:3])
    later = earlier.extend(segments[3:])
    assert common_segments(earlier, later) == 3
    assert first_difference(earlier, later).append_only
    branch = shared.extend(segments[3:])
    assert common_segments(earlier, branch) == 2
    assert tuple(segments_from(later, 3)) == segments[3:]


def test_prompts_without_a_shared_base_are_compared_by_content() -> None:
    segments = prompt(messages("a", "b", "c")).segments()
    left = prompt_of(segments[:1]).extend(segments[1:])
    right = prompt_of(segments[:3])
    assert common_segments(left, right) == 3


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2)), min_size=1, max_size=8), st.data())
def test_what_two_prompts_share_at_least_is_the_longest_prompt_that_both_extend(
    steps: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Against the walk over all of both; prompts that extend another one by nothing are among them."""
    segments = prompt(messages(*"abcdefghijklmnopqrst")).segments()
    tree = [Prompt((), None, 0)]
    for number, (base, added) in enumerate(steps):
        tree.append(tree[base % len(tree)].extend(segments[2 * number : 2 * number + added]))
    tree.append(Prompt((), None, 0))  # in no lineage but its own
    earlier, later = data.draw(st.sampled_from(tree)), data.draw(st.sampled_from(tree))
    walked = [node for node in earlier.lineage() if node in set(later.lineage())]
    length = len(walked[0]) if walked else 0
    assert common_segments(earlier, later) == length
