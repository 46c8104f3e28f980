"""What llama.cpp's server reuses: slots that hold the last prompt they computed, and prompts kept in host memory.

Source: llama.cpp `tools/server/server-context.cpp` (`get_available_slot`, `update_slots`) and `server-task.cpp`
(`server_prompt_cache`), build 11434; met on every call by build 11549. A prompt takes the idle slot that shares the largest
part of it, if that is more than `similarity`, else the one used least recently. In the second case, and where the slot
would keep less than half of what it holds, that is copied to host memory first and a kept prompt that is better both ways
(more of it used, more of this prompt covered) moves into the slot. Whatever else the host memory holds is not looked at:
what is found can be less than the longest prefix ever computed. The last token of a prompt is always computed again.

Not simulated: the limit of the host memory, which is in bytes (8 GiB unless `--cache-ram` says otherwise; its log says
when an entry goes), and models with sliding windows or recurrent layers, which resume at checkpoints only.
"""

from dataclasses import dataclass, field

import numpy
from numpy.typing import NDArray

from hitledger_replay.sessions.expected import Expectation
from hitledger_replay.sessions.plan import PlannedCall

Tokens = NDArray[numpy.int64]
Single = numpy.float32  # the server compares shares in single precision
KEPT_BEFORE_COPYING = Single(0.5)
USED_OF_KEPT = Single(0.25)


@dataclass(frozen=True, slots=True)
class SlotRule:
    """The server's settings. `unified`: `--kv-unified`; `chunk`: `--cache-reuse`, 0 is off."""

    slots: int = 1
    unified: bool = False
    host_memory: bool = True
    copies_idle: bool = True
    similarity: float = 0.1
    chunk: int = 0


@dataclass(slots=True, eq=False)
class _Slot:
    tokens: Tokens = field(default_factory=lambda: numpy.zeros(0, numpy.int64))
    used: int = -1


class SlotReads:
    """One request at a time, from an empty cache."""

    def __init__(self, rule: SlotRule) -> None:
        self._rule = rule
        self._slots = [_Slot() for _ in range(rule.slots)]
        self._kept: list[Tokens] = []
        self._clock = 0

    def next(self, call: PlannedCall) -> Expectation:
        """The call that comes next in time. The token that it generates is not kept: nothing was computed from it."""
        prompt = numpy.asarray(call.prompt, numpy.int64)
        slot = self._place(prompt)
        cached = min(self._reused(slot.tokens, prompt), len(prompt) - 1)
        slot.tokens = prompt
        return Expectation(cached, len(prompt), len(prompt) - cached)

    def refused(self, call: PlannedCall) -> None:
        """A prompt longer than the context takes its slot before it is refused, and leaves it as it is."""
        self._place(numpy.asarray(call.prompt, numpy.int64))

    def _place(self, prompt: Tokens) -> _Slot:
        slot, alike = self._most_alike(prompt)
        copies = slot is None or alike * Single(len(prompt)) / Single(len(slot.tokens)) < KEPT_BEFORE_COPYING
        if slot is None:
            slot = min(reversed(self._slots), key=lambda each: each.used)
        if copies and self._rule.host_memory:
            self._keep(slot.tokens)
            slot.tokens = self._better(slot.tokens, prompt)
        self._clock += 1
        slot.used = self._clock
        if self._rule.copies_idle and self._rule.host_memory:
            self._copy_idle(slot)
        return slot

    def _most_alike(self, prompt: Tokens) -> tuple[_Slot | None, Single]:
        found, best = None, Single(self._rule.similarity)
        for slot in self._slots if best else ():  # 0 turns the choice by similarity off
            alike = Single(common(slot.tokens, prompt)) / Single(len(prompt))
            if alike > best:
                found, best = slot, alike
        return found, best

    def _keep(self, tokens: Tokens) -> None:
        """One that is the beginning of a kept prompt is not kept again; kept ones that begin this one go."""
        if not len(tokens) or any(common(kept, tokens) == len(tokens) for kept in self._kept):
            return
        self._kept = [kept for kept in self._kept if common(kept, tokens) < len(kept)]
        self._kept.append(tokens)

    def _better(self, tokens: Tokens, prompt: Tokens) -> Tokens:
        """The kept prompt that moves into the slot; `tokens`, which the slot holds, if none is better."""
        shared = Single(common(tokens, prompt))
        used = shared / Single(len(tokens)) if len(tokens) else Single(-1)
        covered, found = shared / Single(len(prompt)), None
        for number, kept in enumerate(self._kept):
            shared = Single(common(kept, prompt))
            shares = shared / Single(len(kept)), shared / Single(len(prompt))
            if shares[0] >= USED_OF_KEPT and used < shares[0] and covered < shares[1]:
                (used, covered), found = shares, number
        return tokens if found is None else self._kept.pop(found)

    def _copy_idle(self, busy: _Slot) -> None:
        for slot in self._slots:
            if slot is not busy:
                self._keep(slot.tokens)
                if self._rule.unified:
                    slot.tokens = slot.tokens[:0]

    def _reused(self, held: Tokens, prompt: Tokens) -> int:
        """The common prefix and, with `--cache-reuse`, later chunks that are moved to where the prompt has them."""
        found = common(held, prompt)
        at = found
        while self._rule.chunk and at < len(held) and found < len(prompt):
            size = common(held[at:], prompt[found:])
            if size < self._rule.chunk:
                at += 1
            else:
                at, found = at + size, found + size
        return found


def common(left: Tokens, right: Tokens) -> int:
    """Tokens of the longest common prefix."""
    size = min(len(left), len(right))
    different = left[:size] != right[:size]
    return int(different.argmax()) if different.any() else size
