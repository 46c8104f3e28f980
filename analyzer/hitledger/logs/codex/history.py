"""The prompt of a rollout as its items come in."""

from collections.abc import Sequence
from typing import Any

from hitledger.segments import Api, Layout, hidden
from hitledger.types import Kind, Prompt, Segment, Tier, prompt_of

OUTPUT_TYPES = frozenset(
    {
        *("agent_message", "custom_tool_call", "function_call", "image_generation_call", "local_shell_call"),
        *("reasoning", "tool_call", "tool_search_call", "web_search_call"),
    }
)


class History:
    """Items that the next request sends. Layout and order are those of the Responses API."""

    def __init__(self) -> None:
        self.layout = Layout(keep_text=False)
        self.head = prompt_of((hidden(),))
        self.prompt = self.head
        self.waiting: list[Segment] = []  # items behind the last request's prompt
        self.inputs_end = 0  # how many of them stand up to the last one that the model did not write
        self.in_turn = False  # whether a user turn has started since the last request
        self.turns: list[tuple[Prompt, tuple[Segment, ...]]] = []  # before each user turn

    def instruct(self, text: str, path: str) -> None:
        """The base instructions: what is hidden then are the tools alone."""
        if self.prompt is self.head and len(self.head) == 1:
            system = self.layout.text(text, Kind.SYSTEM, Tier.SYSTEM, path, "system")
            self.head = self.prompt = prompt_of((hidden(label="tools"), system))

    def add(self, item: Any, path: str) -> None:
        """One response item."""
        self.waiting += self.layout.blocks(item, "", path, Api.RESPONSES)
        if not wrote_it(item):
            self.inputs_end = len(self.waiting)

    def begin_turn(self) -> None:
        """A user turn starts here, unless one has since the last request; a rollback can come back to this."""
        if self.in_turn:
            return
        self.in_turn = True
        self.turns.append((self.prompt, tuple(self.waiting)))

    def roll_back(self, turns: int) -> None:
        """The last so many user turns were taken back."""
        if 0 < turns <= len(self.turns):
            self.prompt, waiting = self.turns[-turns]
            self.waiting, self.inputs_end = list(waiting), len(waiting)
            del self.turns[-turns:]
            self.in_turn = False

    def replace(self, items: Sequence[Any], path: str) -> None:
        """Compaction: from here on these items are the whole history."""
        self.prompt, self.waiting, self.inputs_end, self.turns = self.head, [], 0, []
        for index, item in enumerate(items):
            self.add(item, f"{path}[{index}]")
        self.inputs_end = len(self.waiting)

    def request(self) -> Prompt:
        """The prompt of the request whose usage comes now: all but what the model has written since the last input.

        New versions write the answer before its usage, old ones behind it; both leave the answer out so.
        """
        self.prompt = self.prompt.extend(tuple(self.waiting[: self.inputs_end]))
        del self.waiting[: self.inputs_end]
        self.inputs_end = 0
        self.in_turn = False
        return self.prompt


def wrote_it(item: Any) -> bool:
    """Whether the model wrote this item."""
    if not isinstance(item, dict):
        return False
    return item.get("type") in OUTPUT_TYPES or item.get("role") == "assistant"
