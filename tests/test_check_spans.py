"""Every differing span of two texts, every differing leaf of two values."""

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from hitledger.check.leaves import differing_leaves
from hitledger.check.spans import differing_spans

TEXT = st.text(alphabet="ab 1\n.", max_size=60)
VALUES = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("kl", min_size=1, max_size=2), inner, max_size=3)
)  # fmt: skip


@given(TEXT, TEXT)
def test_spans_cover_the_whole_difference(old: str, new: str) -> None:
    """Taking every span from the new text, last to first, makes the new text of the old one."""
    text = old
    for span in reversed(differing_spans(old, new)):
        text = text[: span.old[0]] + new[slice(*span.new)] + text[span.old[1] :]
    assert text == new


@given(TEXT)
def test_equal_texts_have_no_span(text: str) -> None:
    assert differing_spans(text, text) == ()


def test_two_places_are_two_spans_and_one_date_is_one() -> None:
    old = "Today is 2026-01-15 12:00.\nThe manual stays.\nRequest 7 of user ann, who is logged in."
    new = "Today is 2026-02-17 15:01.\nThe manual stays.\nRequest 8 of user ann, who is logged out."
    spans = differing_spans(old, new)
    assert [old[slice(*span.old)] for span in spans] == ["01-15 12:00", "7", "in"]
    assert spans[1].alone(old, new) == old.replace("Request 7", "Request 8")


@settings(max_examples=200)
@given(VALUES, VALUES)
def test_leaves_are_empty_exactly_for_equal_texts(old: Any, new: Any) -> None:
    found = list(differing_leaves(old, new, "x"))
    assert bool(found) == (orjson.dumps(old) != orjson.dumps(new))


def test_moved_keys_and_elements() -> None:
    old = {"a": 1, "b": ["x", "y"], "c": {"d": 1}}
    new = {"b": ["y", "x"], "a": 1, "c": {"d": 2, "e": 3}}
    found = [(leaf.path, leaf.before, leaf.after, leaf.moved) for leaf in differing_leaves(old, new, "tools[0]")]
    assert found == [
        ("tools[0]", "a, b, c", "b, a, c", True),
        ("tools[0].b", '["x","y"]', '["y","x"]', True),
        ("tools[0].c.d", "1", "2", False),
        ("tools[0].c.e", "", "3", False),
    ]
