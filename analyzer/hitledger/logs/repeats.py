"""Calls that a log holds twice: a capture copied into another file, or written again on resume."""

from hitledger.types import Call


class Repeats:
    """Tells a call seen before: same id, and the same time, prompt and usage (ids of mocks are no ids)."""

    def __init__(self) -> None:
        self._seen: dict[str, set[int]] = {}

    def has(self, call: Call) -> bool:
        """Whether an equal call was given before; remembers this one."""
        prints = self._seen.setdefault(call.id, set())
        digests = (segment.digest for segment in call.prompt.segments())
        content = hash((call.started_at, call.model, call.usage, call.status, *digests))
        if content in prints:
            return True
        prints.add(content)
        return False
