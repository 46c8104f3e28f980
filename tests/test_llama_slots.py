"""llama.cpp's slots by hand: what a prompt takes, what host memory brings back, and what is lost."""

from typing import Any

import pytest

from hitledger.errors import UsageError
from hitledger.types import Certainty
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.errors import ServerError
from hitledger_replay.servers.slotflags import slot_rule
from hitledger_replay.servers.slots import SlotReads, SlotRule
from hitledger_replay.sessions.expected import ExpectedReads
from hitledger_replay.sessions.plan import PlannedCall
from hitledger_replay.sessions.render import Rendering

A = tuple(range(20))
B = tuple(range(100, 120))
HALF_OF_A = (*A[:10], *range(200, 210))


def planned(prompt: tuple[int, ...]) -> PlannedCall:
    return PlannedCall("c", "s", "main", 0.0, None, prompt, (), None, Rendering.TOKEN_IDS, Certainty.EXACT, "")


def reads(rule: SlotRule, *prompts: tuple[int, ...]) -> list[int]:
    simulator = SlotReads(rule)
    return [simulator.next(planned(prompt)).cached_tokens for prompt in prompts]


def test_the_last_token_is_computed_again() -> None:
    assert reads(SlotRule(), A, A, A[:5], (*A[:5], 7)) == [0, 19, 4, 5]


def test_one_slot_brings_back_what_another_session_pushed_out() -> None:
    assert reads(SlotRule(), A, B, (*A, 50), (*B, 50)) == [0, 0, 20, 20]
    assert reads(SlotRule(host_memory=False), A, B, (*A, 50), (*B, 50)) == [0, 0, 0, 0]


def test_a_prompt_that_keeps_half_of_the_slot_loses_the_rest_of_it() -> None:
    """The longest prefix ever computed is no rule: A was not copied, since half of it stays in use."""
    prompts = A, HALF_OF_A, (*A, 50)
    assert reads(SlotRule(), *prompts) == [0, 10, 10]
    anywhere = ExpectedReads(1)
    assert [anywhere.next(planned(prompt)).cached_tokens for prompt in prompts] == [0, 10, 20]


def test_a_prompt_that_keeps_less_than_half_leaves_a_copy() -> None:
    assert reads(SlotRule(), A, (*A[:9], *range(200, 211)), (*A, 50)) == [0, 9, 20]


def test_a_kept_prompt_of_which_less_than_a_quarter_is_used_stays() -> None:
    """5 of 20 come back, 4 do not; the second slot is empty, so nothing else is at hand."""
    assert reads(SlotRule(slots=1), A, B, (*A[:5], 50)) == [0, 0, 5]
    assert reads(SlotRule(slots=1), A, B, (*A[:4], 50)) == [0, 0, 0]


def test_a_kept_prompt_must_be_better_both_ways() -> None:
    """The slot holds 4 tokens that are all used; A's 8 of 20 cover more, but less of A would be kept."""
    short, wanted = A[:4], (*A[:8], *range(300, 400))
    assert reads(SlotRule(), A, B, short, wanted) == [0, 0, 0, 4]


@pytest.mark.parametrize(("shared", "found"), [(2, [0, 0, 20]), (3, [0, 3, 3])])
def test_a_prompt_takes_a_slot_that_shares_more_than_a_tenth(shared: int, found: list[int]) -> None:
    little = (*A[:shared], *range(200, 220 - shared))
    assert reads(SlotRule(slots=2, host_memory=False), A, little, (*A, 50)) == found
    assert reads(SlotRule(slots=2, host_memory=False, similarity=0), A, little, (*A, 50)) == [0, 0, 20]


def test_slots_are_taken_from_the_last_and_by_least_recent_use() -> None:
    c = tuple(range(500, 520))
    assert reads(SlotRule(slots=2, host_memory=False), A, B, c, B, A) == [0, 0, 0, 19, 0]


def test_over_one_store_an_idle_slot_is_emptied() -> None:
    """What is left of A is a copy, and a copy of which 4 of 20 are used stays in memory."""
    prompts = A, B, (*A[:4], *range(300, 309))
    assert reads(SlotRule(slots=2), *prompts) == [0, 0, 4]
    assert reads(SlotRule(slots=2, unified=True), *prompts) == [0, 0, 0]
    assert reads(SlotRule(slots=2, unified=True, host_memory=False), *prompts) == [0, 0, 4]
    assert reads(SlotRule(slots=2, unified=True, copies_idle=False), *prompts) == [0, 0, 4]


def test_chunks_behind_an_edit_move_with_cache_reuse() -> None:
    """8 tokens in front, one dropped, 11 moved; a chunk that is shorter than asked for stays where it is."""
    edited = (*A[:8], *A[9:], 50)
    assert reads(SlotRule(chunk=11), A, edited) == [0, 19]
    assert reads(SlotRule(chunk=12), A, edited) == [0, 8]


def test_a_refused_prompt_takes_the_slot_but_computes_nothing() -> None:
    simulator = SlotReads(SlotRule())
    for prompt in (A, B):
        simulator.next(planned(prompt))
    simulator.refused(planned((*A, *range(9000))))  # 20 of 9,020: A moves into the slot, B to memory
    assert simulator.next(planned(HALF_OF_A)).cached_tokens == 10
    assert simulator.next(planned(A)).cached_tokens == 10  # half of A was kept in use, so the rest was lost


class Stated(ServerClient):
    def __init__(self, slots: Any) -> None:
        super().__init__("http://127.0.0.1:9")
        self.slots = slots

    def get_json(self, path: str) -> dict[str, Any]:
        if self.slots is None:
            raise ServerError("status 404")
        return {"total_slots": self.slots}


@pytest.mark.parametrize(
    ("flags", "stated", "rule"),
    [
        ("", None, SlotRule()),
        ("", "many", SlotRule()),
        ("", 4, SlotRule(slots=4, unified=True)),
        ("", 3, SlotRule(slots=3)),
        ("--no-kv-unified", 4, SlotRule(slots=4)),
        ("-np 4", 4, SlotRule(slots=4)),
        ("-np -1", None, SlotRule(slots=4, unified=True)),
        ("-m x.gguf -ngl 99 -np 2 -kvu --cache-reuse 256", None, SlotRule(slots=2, unified=True, chunk=256)),
        ("-c 0 -s 1 -n 2 -np 2 -k 5", 1, SlotRule(slots=2)),
        ("-np 2 -kvu -no-kvu", 1, SlotRule(slots=2)),
        ("", True, SlotRule()),
        ("-cram 0 --no-cache-idle-slots -sps 0.5", 1, SlotRule(host_memory=False, copies_idle=False, similarity=0.5)),
    ],
)
def test_the_rule_follows_the_server_s_flags(flags: str, stated: Any, rule: SlotRule) -> None:
    assert slot_rule(flags, Stated(stated)) == rule


@pytest.mark.parametrize(
    "flags", ["-np 0", "-np 5000", "-np many", "-cram", "'", "--cache-reuse -1", "-sps -1", "-sps nan", "-sps 1.5"]
)
def test_flags_that_cannot_be(flags: str) -> None:
    with pytest.raises(UsageError, match="--server-flags"):
        slot_rule(flags, Stated(1))
