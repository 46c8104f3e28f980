"""llama.cpp's server: a few sequences ("slots"), each holding the last prompt it served; what leaves can be kept in memory.

Source: tools/server/server-context.cpp and server-task.cpp: a request takes the slot that shares the largest part of its
prompt, if that is more than `slot_prompt_similarity`, else the slot that was used least recently; the common prefix is kept
and, where the whole prompt is there, its last token computed again. With host memory, a slot that is taken for its age, or that
would lose more than half of what it holds, is copied first, and a copy moves in that is better both ways: more of it is used
and more of the prompt covered, at least a quarter of the copy. Slots that stay idle can be emptied into memory as well.
Replays of real servers follow the same rule by token ids and in the server's single precision, and met it on every call.
"""

from datetime import datetime

from msgspec import Struct

from hitledger.policies.cache import Blocked, Forecast
from hitledger.policies.prefixes import behind_answer, common_part, part_tokens
from hitledger.policies.view import View
from hitledger.prefix import common_segments, parting
from hitledger.types import Prompt

KEPT_BEFORE_SAVING = 0.5  # a slot that keeps less of what it holds is saved first
USED_OF_SAVED = 0.25  # a saved prompt of which less is used is not loaded
SAVED_PROMPTS = 256  # how many are compared; the server's limit is in bytes


class Held(Struct):
    """A prompt that a slot or the memory holds."""

    prompt: Prompt
    tokens: int
    source: int  # index of the call
    order: int = 0  # of last use
    slot: int = 0  # how many slots had been filled before its own: the server fills them from the last


class Match(Struct, frozen=True):
    """What a prompt would reuse of a held one."""

    held: Held
    tokens: int
    position: int

    @property
    def used(self) -> float:
        """The share of what is held."""
        return self.tokens / self.held.tokens if self.held.tokens else 0.0


class SlotCache:
    """The slots of one server."""

    def __init__(self) -> None:
        self._slots: list[Held] = []
        self._saved: list[Held] = []
        self._clock = 0

    def forecast(self, view: View, now: datetime | None) -> Forecast:
        """The common prefix with the slot taken, or with the saved prompt loaded into it."""
        best = self._loaded(view, self._taken(view)) or self._taken(view)
        if best is None:
            return Forecast(0, None)
        total = view.tokens_at(view.length)
        read = max(0, min(best.tokens, total - 1 if view.rule.keeps_last else total))
        return Forecast(read, best.held.source if read else None, best.position)

    def _taken(self, view: View) -> Match | None:
        """The slot that the request takes; None: one that is empty."""
        matches = [match_of(view, held) for held in self._slots]
        total = view.tokens_at(view.length)
        similar = [match for match in matches if total and match.tokens / total > view.rule.similarity]
        if similar:
            return max(similar, key=lambda match: (match.tokens, match.held.slot))  # of equals the server's first
        if len(self._slots) < view.rule.slots:
            return None
        return min(matches, key=lambda match: match.held.order)

    def _loaded(self, view: View, taken: Match | None) -> Match | None:
        """The saved prompt that is loaded in place of what the slot holds."""
        if not view.rule.host_memory or (taken is not None and not _saves(view, taken)):
            return None
        best, used, covered = None, *((taken.used, taken.tokens) if taken is not None else (-1.0, 0))
        for match in (match_of(view, held) for held in self._saved):
            if match.used >= USED_OF_SAVED and match.used > used and match.tokens > covered:
                best, used, covered = match, match.used, match.tokens
        return best

    def blocked(self, view: View, now: datetime | None, forecast: Forecast, more: bool) -> Blocked | None:
        """Nothing is held that could not be read: what a slot lost is gone."""
        return None

    def store(self, view: View, index: int, forecast: Forecast) -> int:
        """The slot now holds this prompt; what it held before is saved or lost."""
        taken = self._taken(view)
        loaded = self._loaded(view, taken)
        slot = len(self._slots) if taken is None else taken.held.slot
        if taken is not None:
            self._slots.remove(taken.held)
            if view.rule.host_memory and _saves(view, taken):
                self._save(taken.held)
        if loaded is not None:
            self._saved.remove(loaded.held)
        if view.rule.empties_idle:
            for idle in self._slots:
                self._save(idle)
            self._slots.clear()
        self._clock += 1
        tokens = view.tokens_at(view.length)
        self._slots.append(Held(view.prompt, tokens, index, self._clock, slot))
        return tokens

    def _save(self, held: Held) -> None:
        if any(begins(held.prompt, other.prompt) for other in self._saved):
            return
        kept = [other for other in self._saved if not begins(other.prompt, held.prompt)]
        self._saved = [*kept, held][-SAVED_PROMPTS:]


def begins(shorter: Prompt, longer: Prompt) -> bool:
    """Whether one prompt is the beginning of another; its last segment may go on there."""
    position, left, right = parting(shorter, longer)
    if position == len(shorter):
        return True
    if position < len(shorter) - 1 or left is None or right is None or not left.text:
        return False
    return common_part(right.text or "", left) == left.text


def _saves(view: View, taken: Match) -> bool:
    """Whether the slot was taken for its age, or for a part that is less than half of it."""
    aged = taken.tokens <= view.rule.similarity * view.tokens_at(view.length)
    return aged or taken.used < KEPT_BEFORE_SAVING


def match_of(view: View, held: Held) -> Match:
    """Common prefix of a prompt with a held one: whole segments, what the model said behind it, part of the next."""
    position = common_segments(held.prompt, view.prompt)
    if position == len(held.prompt) and view.rule.holds_output:
        position = behind_answer(view, position)
    part = ""
    if position < min(len(held.prompt), view.length):
        part = common_part(held.prompt.segments()[position].text or "", view.segment(position))
    return Match(held, view.tokens_at(position) + part_tokens(view, position, part), position)
