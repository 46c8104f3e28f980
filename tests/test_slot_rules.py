"""The audit's slots and the server replay's are two statements of one rule, by segments and by token ids: they agree."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitledger_replay.servers import slots
from hitledger_replay.servers.slots import SlotReads, SlotRule
from rule_builders import reads, rule_named
from test_llama_slots import planned
from test_prefix_rules import prompts

Ids = tuple[int, ...]
HOST, IDLE = "llama-cpp-host-memory", "llama-cpp-idle-slots"

few = st.lists(st.integers(0, 2), min_size=1, max_size=8)
many = st.lists(st.integers(0, 50), min_size=1, max_size=14)


@st.composite
def sessions(draw: st.DrawFn) -> list[Ids]:
    """Up to four sessions over one or two heads: a call grows its session, changes one id, cuts it or starts again."""
    heads = draw(st.lists(few, min_size=1, max_size=2))
    current = [[*draw(st.sampled_from(heads)), *draw(many)] for _ in range(draw(st.integers(1, 4)))]
    sent = []
    for _ in range(draw(st.integers(3, 12))):
        number = draw(st.integers(0, len(current) - 1))
        session = current[number]
        match draw(st.sampled_from(("grow", "grow", "edit", "cut", "again", "restart"))):
            case "grow":
                session = [*session, *draw(many)]
            case "edit":
                at = draw(st.integers(0, len(session) - 1))
                session = [*session[:at], draw(st.integers(0, 50)), *session[at + 1 :]]
            case "cut":
                session = session[: draw(st.integers(1, len(session)))]
            case "restart":
                session = [*draw(st.sampled_from(heads)), *draw(many)]
        current[number] = session
        sent.append(tuple(session))
    return sent


def by_ids(rule: SlotRule, sent: list[Ids]) -> list[int]:
    """In exact arithmetic: the server's single precision takes 14 of 46, of 28, for less than a half."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("Single", "KEPT_BEFORE_COPYING", "USED_OF_KEPT"):
            patch.setattr(slots, name, Fraction if name == "Single" else Fraction(float(getattr(slots, name))))
        simulator = SlotReads(rule)
        return [simulator.next(planned(prompt)).cached_tokens for prompt in sent]


@pytest.mark.parametrize(
    ("name", "number", "host_memory", "rule"),
    [
        (HOST, 1, True, SlotRule(1, copies_idle=False)),
        (HOST, 3, True, SlotRule(3, copies_idle=False)),
        (HOST, 3, False, SlotRule(3, host_memory=False)),
        (IDLE, 4, True, SlotRule(4, unified=True)),
    ],
)
@settings(max_examples=60, deadline=None)
@given(sent=sessions())
def test_both_statements_of_the_rule_read_the_same(
    name: str, number: int, host_memory: bool, rule: SlotRule, sent: list[Ids]
) -> None:
    changed = rule_named(name, slots=number, host_memory=host_memory, valid_to=None)
    assert reads(prompts("llama_cpp", *sent), changed) == by_ids(rule, sent)


def test_of_slots_that_share_as_much_the_server_s_first_is_taken() -> None:
    """Both share two ids; the one that was filled last is the first in the server's list, whichever was used last."""
    first, second, both = (0, 0, 2), (0, 0, 3, 3, 3, 3), (0, 0, 4)
    sent = [first, second, first, both, second]
    changed = rule_named(HOST, slots=3, host_memory=False, similarity=0.5, valid_to=None)
    assert by_ids(SlotRule(3, host_memory=False, similarity=0.5), sent) == [0, 0, 2, 2, 0]
    assert reads(prompts("llama_cpp", *sent), changed) == [0, 0, 2, 2, 0]
