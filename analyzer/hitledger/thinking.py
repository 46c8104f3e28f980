"""Server-side removal of earlier thinking: what older Claude models really see at a new user turn.

Their API drops the thinking blocks of finished turns once a user message arrives that is no tool result, so the
prompt as sent and the prompt as cached are two things (Anthropic, extended thinking, "thinking block preservation").
"""

from collections.abc import Iterator

import msgspec

from hitledger.types import Call, Kind, Prompt, Segment, Tier, prompt_of


class EffectivePrompt(Prompt):
    """What the server uses of a transcript's prompt. Its length is known; its segments are cut when asked for."""

    __slots__ = ("_nodes", "_own")

    _nodes: tuple[Prompt, ...]
    _own: tuple[Segment, ...] | None

    __setattr__ = object.__setattr__  # a frozen dataclass's own way is dear, and there are many

    def __init__(self, base: Prompt, nodes: tuple[Prompt, ...], length: int) -> None:
        self.base = base  # type: ignore[misc]
        self.length = length  # type: ignore[misc]
        self._nodes = nodes
        self._own = None

    @property
    def own(self) -> tuple[Segment, ...]:
        """The segments, cut at the first look."""
        if self._own is None:
            self._own = tuple(self.pieces())
        return self._own

    def pieces(self) -> Iterator[Segment]:
        """The own segments one by one; no more of the transcript is cut than is asked for."""
        first, last = self._nodes[0], self._nodes[-1]
        whole = last.length - (first.base.length if first.base is not None else 0)
        drops = self.base is not None and whole > self.length - self.base.length
        for node in self._nodes:
            yield from (s for s in node.pieces() if not drops or s.kind is not Kind.THINKING)

    def last_message(self) -> tuple[int, bool]:
        """The last message is the user's: nothing is dropped from it, and the nodes know it without being cut."""
        count = 0
        for node in reversed(self._nodes):
            added, is_whole = node.last_message()
            count += added
            if is_whole:
                return count, True
        return count, False


class _Turn(msgspec.Struct, frozen=True, gc=False):
    """The effective form of a prompt, and of the one that opened its turn."""

    effective: Prompt
    first: Prompt  # as sent
    first_effective: Prompt


class ThinkingStripper:
    """Effective prompts of calls, given in the order of their chains."""

    def __init__(self) -> None:
        self._turns: dict[Prompt, _Turn] = {}

    def effective(self, call: Call) -> Prompt:
        """The prompt without the thinking of finished turns."""
        prompt = call.prompt
        if prompt.base is None:
            return _filtered(prompt)
        found = self._turns.get(prompt)
        if found is None:
            found = self._turns[prompt] = self._turn(prompt, "user_turn" in call.events)
        return found.effective

    def _turn(self, prompt: Prompt, opens_turn: bool) -> _Turn:
        added, node = [prompt], prompt.base  # nearly all go on with the call before
        while node is not None and node not in self._turns:
            added.append(node)
            node = node.base
        if node is None:
            return _Turn(prompt, prompt, prompt)
        known, nodes = self._turns[node], tuple(reversed(added))
        if not opens_turn:
            effective = prompt if known.effective is node else _grown(known.effective, nodes)
            return _Turn(effective, known.first, known.first_effective)
        effective = self._at_new_turn(prompt, known, nodes)
        return _Turn(effective, prompt, effective)

    def _at_new_turn(self, prompt: Prompt, known: _Turn, nodes: tuple[Prompt, ...]) -> Prompt:
        since: list[Prompt] = []
        for node in prompt.lineage():
            if node is known.first:
                break
            since.append(node)
        dropped = sum(node.thinking() for node in since)
        if not dropped:
            return prompt if known.effective is nodes[0].base else _grown(known.effective, nodes)
        length = known.first_effective.length + prompt.length - known.first.length - dropped
        return EffectivePrompt(known.first_effective, tuple(reversed(since)), length)


def _grown(base: Prompt, nodes: tuple[Prompt, ...]) -> Prompt:
    first = nodes[0].base
    added = nodes[-1].length - (first.length if first is not None else 0)
    return EffectivePrompt(base, nodes, base.length + added)


def _filtered(prompt: Prompt) -> Prompt:
    """A full prompt: thinking before the last user message that is no tool result is gone."""
    segments = prompt.own
    last_turn = max((index for index, segment in enumerate(segments) if _opens_turn(segment)), default=0)
    kept = tuple(s for index, s in enumerate(segments) if index > last_turn or s.kind is not Kind.THINKING)
    return prompt if len(kept) == len(segments) else prompt_of(kept)


def _opens_turn(segment: Segment) -> bool:
    """A user message that is no tool result starts a turn."""
    return (
        segment.tier is Tier.MESSAGES
        and segment.role == "user"
        and segment.opens_message
        and segment.kind is not Kind.TOOL_RESULT
    )
