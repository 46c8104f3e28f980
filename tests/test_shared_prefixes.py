"""Prefixes that share their lives against a cache in which each position keeps its own time."""

from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from call_builders import START
from hitledger.policies import blocks
from hitledger.policies.cache import used_at, visible_from
from hitledger.policies.lives import Life, alive
from hitledger.policies.prefixes import Place, Prefixes, Shared, part_tokens, usable
from hitledger.policies.rule import Lifetime
from hitledger.policies.view import View
from hitledger.types import Call, Evidence, Prompt
from rule_builders import chat, expected, rule_named, words

RULES = rule_named(
    "openai-implicit",
    default_lifetime="5m",
    lifetimes=(Lifetime("5m", 300),),
    visible_after="response_end",
    valid_to=None,
)


class Apart(Prefixes):
    """Each position has a life of its own; a call looks at all its positions and renews them one by one."""

    def longest(self, view: View, now: datetime | None) -> Shared | None:
        """The longest prefix shared with an earlier prompt that still lives and can be read."""
        for position, key in view.ends():
            place = self.places.get(key)
            if place is not None and usable(place, now):
                return self._extended(view, position, place, now)
        part = self._part(view, 0, now)
        return None if part is None else Shared(part_tokens(view, 0, part[0]), 0, *part)

    def add(self, view: View, index: int) -> None:
        """Take in all positions of a prompt."""
        now = used_at(view)
        for position, key in view.ends():
            place = self.places.get(key)
            if place is None:
                life = Life(now, "5m", 300, index, None)
                place = self.places[key] = Place(visible_from(view), None, life, position)
            else:
                if not alive(place.life, view.call.started_at):
                    place.life.visible = visible_from(view)
                place.life.used, place.life.user = now, index
            place.is_end = place.is_end or position == view.length
        if view.call.evidence is Evidence.EXACT:
            self._add_following(view, index)


def timed(call: Call, seconds: int, takes: int) -> Call:
    start = START + timedelta(seconds=seconds)
    return replace(call, started_at=start, ended_at=start + timedelta(seconds=takes))


def full(number: int, path: str) -> Call:
    return chat(number, *(words(600, letter) for letter in path), provider="openai", model="gpt-5.1")


def transcripts(paths: list[str]) -> list[Call]:
    """Each prompt extends that of the longest path before it that it goes on with, as readers of transcripts make it."""
    prompts: dict[str, Prompt] = {"": Prompt(full(0, "r").prompt.own, None, 1)}
    found = []
    for number, path in enumerate(paths):
        for end in range(1, len(path) + 1):
            if path[:end] not in prompts:
                own = full(0, path[end - 1]).prompt.own
                prompts[path[:end]] = prompts[path[: end - 1]].extend(own)
        call = replace(full(number, "x"), prompt=prompts[path], evidence=Evidence.RECONSTRUCTED)
        found.append(call)
    return found


paths = st.lists(
    st.tuples(st.text("ab", min_size=1, max_size=7), st.integers(0, 260), st.integers(0, 120)), min_size=1, max_size=25
)


@pytest.mark.parametrize("transcript", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=paths)
def test_every_call_finds_what_it_would_find_apart(
    steps: list[tuple[str, int, int]], transcript: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (
        transcripts([path for path, _, _ in steps])
        if transcript
        else [full(number, path) for number, (path, _, _) in enumerate(steps)]
    )
    seconds, calls = 0, []
    for call, (_, gap, takes) in zip(made, steps, strict=True):
        seconds += gap
        calls.append(timed(call, seconds, takes))
    shared = expected(calls, RULES)
    assert None not in shared
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "Prefixes", Apart)
        apart = expected(calls, RULES)
    assert [(e and e.forecast, e and e.blocked, e and e.left) for e in shared] == [
        (e and e.forecast, e and e.blocked, e and e.left) for e in apart
    ]
