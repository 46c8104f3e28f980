"""The prompt of one agent as its rows come in.

A transcript is a tree of rows (`parentUuid`). The requests of an agent nearly always continue each other, so the prompt
is kept as *steps*: the prompt of a request, its answer, and what came in after it. A row that hangs on an earlier step
goes back to it. Within a step the tree is not followed: parallel tool calls make side branches, and the results of all
of them belong to the next prompt.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from hitledger.logs.claude_code.blocks import tally_of
from hitledger.logs.claude_code.deferred import PART, DeferredPrompt, Part, Rows
from hitledger.logs.claude_code.request import Request
from hitledger.logs.claude_code.row import Entry
from hitledger.logs.claude_code.setting import Settings
from hitledger.segments import digest_of, hidden
from hitledger.types import Kind, Prompt, Segment, prompt_of

STEP_BITS = 24  # a place in the chain is one number: the step, and how many inputs of it had come in
INPUTS_MASK = (1 << STEP_BITS) - 1
CLEARED = "[Old tool result content cleared]"  # what the program puts in the place of a result it drops

Complete = tuple[Request, Settings]  # a request with its whole answer, and what its call takes over from the last one
Step = tuple[Prompt, list[Part], list[Part]]  # the request's prompt, its answer, what came in after it


class Chain:
    """The rows of one agent."""

    __slots__ = (
        *("answer", "complete", "current", "events", "here", "inputs", "last", "name", "parent", "place", "places"),
        *("prompt", "root", "rows", "segments", "settings", "stamp", "steps", "thinking", "version"),
    )

    def __init__(self, name: str, parent: str, rows: Rows, complete: list[Complete]) -> None:
        self.name = name
        self.parent = parent  # the agent that started it, "" for the main one
        self.rows = rows
        self.complete = complete  # of all chains of the file, in the order in which their answers ended
        self.settings = Settings(rows.name, name)
        self.current: Request | None = None  # the request whose answer is coming in
        self.prompt = prompt_of((hidden(label=f"system prompt and tools{' of an agent' if parent else ''}"),))
        self.root = self.prompt
        self.answer: list[Part] = []
        self.inputs: list[Part] = []
        self.segments = self.thinking = 0  # in answer and inputs together
        self.steps: list[Step] = []  # before the one that is open
        self.here = 0  # the place of the step that is open
        self.place = 0  # where the next row stands: in that step, behind its inputs
        self.places: dict[str, int] = {}
        self.last: Any = None  # uuid of the latest row that stands in the open step: what hangs on it goes on
        self.events: list[str] = []
        self.stamp: Any = None  # of the last input row: the next request was sent after it
        self.version: Any = None

    @property
    def begun(self) -> bool:
        """Whether anything but the hidden part stands in the prompt."""
        return bool(self.steps or self.inputs)

    def stand_at(self, parent: Any) -> bool:
        """Go to the row that the next one hangs on; whether that was a step back.

        A parent that is not known (its row was damaged, or it is the first) leaves the chain where it is.
        """
        place = self.places.get(parent)
        if place is None or place >= self.here:
            return False
        prompt, answer, inputs = self.steps[place >> STEP_BITS]
        self.close()
        self._open(prompt, list(answer), inputs[: place & INPUTS_MASK])
        for *_, count, thinking, _ in PART.iter_unpack(b"".join(self.answer + self.inputs)):
            self.segments += count
            self.thinking += thinking
        return True

    def put(self, uuid: Any) -> None:
        """The row with this uuid stands here."""
        if uuid:
            self.places[uuid] = self.place

    def pass_on(self, uuid: Any, parent: Any) -> None:
        """A row that adds nothing to the prompt: what hangs on it hangs on its parent."""
        place = self.places.get(parent)
        if place is None:
            self.put(uuid)
        elif uuid:
            self.places[uuid] = place
            if uuid == self.last:  # one uuid on two rows: the later one stands elsewhere
                self.last = None

    def take(self, entry: Entry, segments: int, thinking: int) -> None:
        """Input behind the last answer: so many segments, thinking among them."""
        number, row, line, start = entry
        inputs, rows = self.inputs, self.rows
        if rows.path is not None:  # as `parts` does it, for most rows of a transcript come here
            inputs.append(PART.pack(number, start, len(line), 1, segments, thinking, not inputs))
        else:
            inputs += rows.parts((entry,), not inputs, segments, thinking)
        self.segments += segments
        self.thinking += thinking
        self.place = place = self.here | len(inputs)
        uuid = row.uuid
        if uuid:
            self.places[uuid] = place
            self.last = uuid
        self.stamp = row.timestamp

    def event(self, name: str) -> None:
        """Something that the next request has just behind it."""
        if name not in self.events:
            self.events.append(name)

    def request(self) -> Prompt:
        """A new request: its prompt is all that stands before it."""
        self.close()
        parts = b"".join(self.answer + self.inputs)
        prompt = DeferredPrompt(self.prompt, parts, self.segments, self.thinking, self.rows)
        self._open(prompt, [], [])
        self.stamp = None
        return prompt

    def close(self) -> None:
        """No more of the current answer comes in."""
        request = self.current
        if request is not None:
            self.current = None
            self._hear(request)
            if not request.copied:
                self.complete.append((request, self.settings))

    def restart(self) -> None:
        """Nothing of what stands before is sent any more (compaction, a new root)."""
        self.close()
        self._open(self.root, [], [])

    def keep(self, uuids: Iterable[Any]) -> None:
        """Rows that a compaction carried over: what hangs on them goes on from here. Their text is left out."""
        for uuid in uuids:
            self.put(uuid)

    def clear_results(self, tool_ids: frozenset[str]) -> None:
        """Results of these tool calls were replaced by a short note; all prompts from here on have the note."""
        if self.current is not None:
            self._hear(self.current)
            self.current.heard = len(self.current.rows)
        self.prompt = prompt_of(tuple(_cleared(segment, tool_ids) for segment in self.prompt.segments()))
        self.answer = self._without(self.answer, tool_ids)
        self.inputs = self._without(self.inputs, tool_ids)
        self.place = self.here | len(self.inputs)
        if not self.steps:
            self.root = self.prompt

    def _without(self, parts: list[Part], tool_ids: frozenset[str]) -> list[Part]:
        return [self.rows.part_of(_cleared(segment, tool_ids)) for segment in self.rows.cut(b"".join(parts))]

    def _hear(self, request: Request) -> None:
        """Rows of the answer that came in since it was last looked at. They were only collected: each is one of many,
        and nothing asks for the answer before it is complete."""
        opens = not request.heard
        for entries in _runs(request.rows if opens else request.rows[request.heard :]):
            count, thinking = tally_of(entries)
            self.answer += self.rows.parts(entries, opens, count, thinking)
            self.segments += count
            self.thinking += thinking
            opens = False

    def _open(self, prompt: Prompt, answer: list[Part], inputs: list[Part]) -> None:
        """The open step is complete, and the next one starts with this."""
        self.steps.append((self.prompt, self.answer, self.inputs))
        self.prompt, self.answer, self.inputs = prompt, answer, inputs
        self.segments = self.thinking = 0
        self.here += 1 << STEP_BITS
        self.last = None
        self.place = self.here | len(inputs)


def _runs(rows: Sequence[Entry]) -> Sequence[Sequence[Entry]]:
    """Rows of an answer as they are made one part: all, where they follow each other in the file; else each by itself,
    and also where the first adds nothing, for what opens a message has to be in its part."""
    if len(rows) > 1:
        content: Any = rows[0][1].message.content  # type: ignore[union-attr]
        if rows[-1][0] - rows[0][0] >= len(rows) or type(content) is not list or not content:
            return [(entry,) for entry in rows]
    return (rows,) if rows else ()


def _cleared(segment: Segment, tool_ids: frozenset[str]) -> Segment:
    if segment.kind is not Kind.TOOL_RESULT or segment.name not in tool_ids:
        return segment
    digest = digest_of(segment.kind, segment.role, f"{segment.name}\0{CLEARED}")
    return replace(segment, digest=digest, chars=len(CLEARED))
