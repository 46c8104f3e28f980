"""Whether two shell patterns have a name in common, held against all short names."""

from fnmatch import fnmatchcase
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from hitledger.prices.overlaps import globs_meet

NAMES = ["".join(letters) for length in range(7) for letters in product("ab", repeat=length)]
PATTERNS = st.text("ab*?", max_size=3)  # two of them meet, if at all, in a name of at most six letters


@given(PATTERNS, PATTERNS)
def test_patterns_meet_where_a_name_fits_both(one: str, two: str) -> None:
    assert globs_meet(one, two) == any(fnmatchcase(name, one) and fnmatchcase(name, two) for name in NAMES)


def test_models_that_two_rows_would_price() -> None:
    assert globs_meet("claude-*-5", "claude-opus-*")
    assert not globs_meet("claude-opus-4*", "claude-opus-5*")
    assert not globs_meet("*-mini", "gpt-*-nano")
