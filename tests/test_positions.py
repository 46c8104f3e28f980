"""Token positions of a transcript's prompts, against a walk over all segments."""

from hypothesis import given
from hypothesis import strategies as st

from hitledger.policies.view import Mark
from hitledger.positions import CHARS_PER_TOKEN, Positions
from hitledger.types import Call, Evidence, Kind, Place, Prompt, Segment, Tier, Usage, prompt_of
from rule_builders import WordCounter

NO_MARKS: tuple[Mark, ...] = ()
SEGMENTS = st.lists(st.integers(0, 40), max_size=3)  # their lengths; 0 is a hidden one
STEPS = st.lists(st.tuples(st.integers(0, 9), SEGMENTS, st.none() | st.integers(1, 300)), min_size=1, max_size=9)


def segments(lengths: list[int]) -> tuple[Segment, ...]:
    return tuple(
        Segment(Kind.TEXT if chars else Kind.HIDDEN, Tier.MESSAGES, "", "user", bytes(16), chars or 9)
        for chars in lengths
    )


def call_of(prompt: Prompt, tokens: int | None) -> Call:
    usage = None if tokens is None else Usage(tokens, None, None, None)
    return Call("c", "s", "main", Place("f", 1), "", "", Evidence.RECONSTRUCTED, prompt, usage=usage)


def walked(prompt: Prompt, ends: dict[Prompt, int], position: int) -> int:
    """A prompt behind whose position nothing is logged: the last logged length, and the characters since."""
    known = [node for node in prompt.lineage() if node in ends]
    assert all(node.length < position for node in known)
    start, tokens = (known[0].length, ends[known[0]]) if known else (0, 0)
    chars = sum(s.chars for s in prompt.segments()[start:position] if s.kind is not Kind.HIDDEN)
    return tokens + int(chars / CHARS_PER_TOKEN)


@given(SEGMENTS, STEPS)
def test_what_no_call_counted_is_told_by_its_characters(
    head: list[int], steps: list[tuple[int, list[int], int | None]]
) -> None:
    """`steps`: which prompt a call's extends, by what, and its logged length."""
    positions, prompts, ends, found = Positions(WordCounter()), [prompt_of(segments(head))], dict[Prompt, int](), []
    for base, added, tokens in steps:
        prompt = prompts[base % len(prompts)].extend(segments(added))
        prompts.append(prompt)
        if tokens is not None:
            ends[prompt] = tokens
        found.append((prompt, positions.of(call_of(prompt, tokens), prompt, NO_MARKS)))
    for prompt, at in found:
        logged = max((node.length for node in prompt.lineage() if node in ends), default=0)
        for position in range(logged + 1, prompt.length + 1):
            assert at(position) == walked(prompt, ends, position)
        if prompt in ends:
            assert not prompt.length or at(prompt.length) in {ends[node] for node in prompt.lineage() if node in ends}
