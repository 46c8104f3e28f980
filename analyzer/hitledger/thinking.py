"""Server-side removal of earlier thinking: what older Claude models really see at a new user turn.

Their API drops the thinking blocks of finished turns once a user message arrives that is no tool result, so the
prompt as sent and the prompt as cached are two things (Anthropic, extended thinking, "thinking block preservation").
"""

from hitledger.types import Kind, Prompt, Segment, Tier, prompt_of


class ThinkingStripper:
    """Effective prompts. A transcript's are extended from call to call inside a turn, rebuilt at a new turn."""

    def __init__(self) -> None:
        self._effective: dict[Prompt, Prompt] = {}

    def effective(self, prompt: Prompt) -> Prompt:
        """The prompt without the thinking of finished turns."""
        found = self._effective.get(prompt)
        if found is None:
            found = self._effective[prompt] = self._build(prompt)
        return found

    def _build(self, prompt: Prompt) -> Prompt:
        base = prompt.base
        if base is not None and not any(_opens_turn(segment) for segment in prompt.own):
            return self.effective_base(base).extend(prompt.own)
        segments = prompt.segments()
        kept = _without_finished_thinking(segments)
        return prompt if len(kept) == len(segments) else self._shared(kept, base)

    def effective_base(self, base: Prompt) -> Prompt:
        """Effective form of a prompt that another extends; walked without recursion from the nearest known one."""
        pending = [base]
        while pending[-1] not in self._effective and pending[-1].base is not None:
            pending.append(pending[-1].base)
        for node in reversed(pending):
            self.effective(node)
        return self._effective[base]

    def _shared(self, kept: tuple[Segment, ...], base: Prompt | None) -> Prompt:
        """Share as much as possible with an effective prompt known already."""
        for node in base.lineage() if base is not None else ():
            known = self._effective.get(node)
            if known is None:
                continue
            segments = known.segments()
            if kept[: len(segments)] == segments:
                return known.extend(kept[len(segments) :])
        return prompt_of(kept)


def _opens_turn(segment: Segment) -> bool:
    """A user message that is no tool result starts a turn."""
    return (
        segment.tier is Tier.MESSAGES
        and segment.role == "user"
        and segment.opens_message
        and segment.kind is not Kind.TOOL_RESULT
    )


def _without_finished_thinking(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    last_turn = max((index for index, segment in enumerate(segments) if _opens_turn(segment)), default=0)
    return tuple(s for index, s in enumerate(segments) if index > last_turn or s.kind is not Kind.THINKING)
