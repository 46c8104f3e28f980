"""How spans lie in each other: which repeat the calls inside them, and whose agent a call belongs to."""

from collections import Counter
from dataclasses import dataclass, field

from hitledger.logs.spans.span import Key, Role

MAX_ANCESTORS = 200  # a longer chain of parents is a loop or an attack


@dataclass(slots=True)
class Tree:
    """The place and role of every span of the input, kept while the calls are read."""

    nodes: dict[Key, tuple[Key, Role]] = field(default_factory=dict)
    outer: set[Key] = field(default_factory=set)
    in_trace: Counter[str] = field(default_factory=Counter)

    def add(self, key: Key, parent: Key, role: Role) -> None:
        """Take in a span; one that is exported again keeps its first place."""
        if key not in self.nodes:
            self.nodes[key] = (parent, role)
            self.in_trace[key[0]] += 1

    def settle(self) -> None:
        """Find the calls that wrap other calls: no tool or agent between them. Call once, when all are added."""
        for key, (_, role) in self.nodes.items():
            if role is not Role.CALL:
                continue
            for ancestor, around in self._ancestors(key):
                if around in (Role.TOOL, Role.AGENT):
                    break
                if around is Role.CALL:
                    self.outer.add(ancestor)

    def role(self, key: Key) -> Role:
        """What the span is, its neighbours considered."""
        return Role.OUTER if key in self.outer else self.nodes[key][1]

    def agents(self, key: Key) -> tuple[str, str]:
        """The agent of a call and the one that started it: "main" and "", or, inside a tool, the id of that span.

        Agent spans alone decide nothing: frameworks wrap one agent in two or three of them.
        """
        tools = [ancestor[1] for ancestor, role in self._ancestors(key) if role is Role.TOOL]
        if not tools:
            return "main", ""
        return tools[0], tools[1] if len(tools) > 1 else "main"

    def alone(self, key: Key) -> bool:
        """Whether the trace holds nothing else, so that it is no session."""
        return self.in_trace[key[0]] == 1

    def _ancestors(self, key: Key) -> list[tuple[Key, Role]]:
        found: list[tuple[Key, Role]] = []
        parent = self.nodes[key][0] if key in self.nodes else key
        while parent in self.nodes and len(found) < MAX_ANCESTORS:
            above, role = self.nodes[parent]
            found.append((parent, role))
            parent = above
        return found
