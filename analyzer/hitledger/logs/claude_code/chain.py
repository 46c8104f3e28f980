"""The prompt of one agent as its rows come in.

A transcript is a tree of rows (`parentUuid`). The requests of an agent nearly always continue each other, so the prompt
is kept as *steps*: the prompt of a request, its answer, and what came in after it. A row that hangs on an earlier step
goes back to it. Within a step the tree is not followed: parallel tool calls make side branches, and the results of all
of them belong to the next prompt.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from hitledger.logs.claude_code.deferred import DeferredPrompt, Part, Rows, RowsAtOnce, counts_of
from hitledger.logs.claude_code.request import Request
from hitledger.segments import digest_of, hidden
from hitledger.types import Call, Kind, Prompt, Segment, prompt_of

STEP_BITS = 24  # a place in the chain is one number: the step, and how many inputs of it had come in
INPUTS_MASK = (1 << STEP_BITS) - 1
CLEARED = "[Old tool result content cleared]"  # what the program puts in the place of a result it drops

Step = tuple[Prompt, list[Part], list[Part]]  # the request's prompt, its answer, what came in after it


class Chain:
    """The rows of one agent."""

    __slots__ = (
        *(
            "answer",
            "calls",
            "current",
            "events",
            "here",
            "inputs",
            "name",
            "parent",
            "places",
            "prompt",
            "rows",
            "segments",
        ),
        *("stamp", "steps", "thinking", "version"),
    )

    def __init__(self, name: str, parent: str, rows: Rows | RowsAtOnce, calls: dict[str, Call | None]) -> None:
        self.name = name
        self.parent = parent  # the agent that started it, "" for the main one
        self.rows = rows
        self.calls = calls  # of all chains of the file, by id; None: not complete yet, or copied from another file
        self.current: Request | None = None  # the request whose answer is coming in
        self.prompt = prompt_of((hidden(label=f"system prompt and tools{' of an agent' if parent else ''}"),))
        self.answer: list[Part] = []
        self.inputs: list[Part] = []
        self.segments = self.thinking = 0  # in answer and inputs together
        self.steps: list[Step] = [(self.prompt, self.answer, self.inputs)]
        self.here = 0  # the place of the step that is open
        self.places: dict[str, int] = {}
        self.events: list[str] = []
        self.stamp: Any = None  # of the last input row: the next request was sent after it
        self.version: Any = None

    @property
    def begun(self) -> bool:
        """Whether anything but the hidden part stands in the prompt."""
        return len(self.steps) > 1 or bool(self.inputs)

    def stand_at(self, parent: Any) -> bool:
        """Go to the row that the next one hangs on; whether that was a step back.

        A parent that is not known (its row was damaged, or it is the first) leaves the chain where it is.
        """
        place = self.places.get(parent)
        if place is None or place >= self.here:
            return False
        prompt, answer, inputs = self.steps[place >> STEP_BITS]
        self._open(prompt, list(answer), inputs[: place & INPUTS_MASK])
        counts = [counts_of(part, self.rows) for part in (*self.answer, *self.inputs)]
        self.segments, self.thinking = (
            sum([count for count, _, _ in counts]),
            sum([thinking for _, thinking, _ in counts]),
        )
        return True

    def put(self, uuid: Any) -> None:
        """The row with this uuid stands here."""
        if uuid:
            self.places[uuid] = self.here | len(self.inputs)

    def pass_on(self, uuid: Any, parent: Any) -> None:
        """A row that adds nothing to the prompt: what hangs on it hangs on its parent."""
        place = self.places.get(parent)
        if place is None:
            self.put(uuid)
        elif uuid:
            self.places[uuid] = place

    def hear(self, parts: Sequence[Part], segments: int, thinking: int, uuid: Any) -> None:
        """One more row of the answer to the current request."""
        self.answer += parts
        self.segments += segments
        self.thinking += thinking
        if uuid:
            self.places[uuid] = self.here | len(self.inputs)

    def take(self, parts: Sequence[Part], segments: int, uuid: Any, stamp: Any) -> None:
        """Input behind the last answer."""
        self.inputs += parts
        self.segments += segments
        if uuid:
            self.places[uuid] = self.here | len(self.inputs)
        self.stamp = stamp

    def event(self, name: str) -> None:
        """Something that the next request has just behind it."""
        if name not in self.events:
            self.events.append(name)

    def request(self) -> Prompt:
        """A new request: its prompt is all that stands before it."""
        prompt = DeferredPrompt(self.prompt, (*self.answer, *self.inputs), self.segments, self.thinking, self.rows)
        self._open(prompt, [], [])
        self.stamp = None
        return prompt

    def close(self) -> None:
        """No more of the current answer comes in. Its call is made while all that it is made of is at hand."""
        if self.current is not None:
            self.calls[self.current.id] = None if self.current.copied else self.current.close()
            self.current = None

    def restart(self) -> None:
        """Nothing of what stands before is sent any more (compaction, a new root)."""
        self._open(self.steps[0][0], [], [])

    def keep(self, uuids: Iterable[Any]) -> None:
        """Rows that a compaction carried over: what hangs on them goes on from here. Their text is left out."""
        for uuid in uuids:
            self.put(uuid)

    def clear_results(self, tool_ids: frozenset[str]) -> None:
        """Results of these tool calls were replaced by a short note; all prompts from here on have the note."""
        self.prompt = prompt_of(tuple(_cleared(segment, tool_ids) for segment in self.prompt.segments()))
        self.answer = [_cleared(segment, tool_ids) for segment in self.rows.cut(self.answer)]
        self.inputs = [_cleared(segment, tool_ids) for segment in self.rows.cut(self.inputs)]
        self.steps[-1] = (self.prompt, self.answer, self.inputs)

    def _open(self, prompt: Prompt, answer: list[Part], inputs: list[Part]) -> None:
        self.close()
        self.prompt, self.answer, self.inputs = prompt, answer, inputs
        self.segments = self.thinking = 0
        self.steps.append((prompt, answer, inputs))
        self.here += 1 << STEP_BITS


def _cleared(segment: Segment, tool_ids: frozenset[str]) -> Segment:
    if segment.kind is not Kind.TOOL_RESULT or segment.name not in tool_ids:
        return segment
    digest = digest_of(segment.kind, segment.role, f"{segment.name}\0{CLEARED}")
    return replace(segment, digest=digest, chars=len(CLEARED))
