"""Names of a log on a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from hitledger.onscreen import printable, short_name


def test_ids_that_begin_alike_are_told_apart() -> None:
    assert short_name("019c0000-0000-7000-8000-00000000000a", 15) == "019c000…000000a"
    assert short_name("019c0000-0000-7000-8000-00000000000b", 16) == "019c000…0000000b"
    assert short_name("msg_04", 8) == "msg_04  "
    assert printable("a\x1b[2J\n") == "a?[2J?"


@given(st.text(), st.integers(3, 40))
def test_a_name_has_its_width_and_nothing_that_moves_the_cursor(text: str, width: int) -> None:
    name = short_name(text, width)
    assert len(name) == width
    assert name.isprintable()
    assert name.startswith(printable(text)[: (width - 1) // 2])
