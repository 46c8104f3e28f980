"""Calls that a log holds twice: a capture copied into another file, or written again on resume."""

from hitledger.types import Call


class Repeats:
    """Tells a call seen before: same id, and the same time, prompt and usage (ids of mocks are no ids).

    `by_id`: the format gives each call an id of its own, so the id and the session decide.
    """

    def __init__(self, *, by_id: bool = False) -> None:
        self._by_id = by_id
        self._seen: dict[str, set[int]] = {}

    def has(self, call: Call) -> bool:
        """Whether an equal call was given before; remembers this one."""
        prints = self._seen.setdefault(call.id, set())
        content = hash(call.session) if self._by_id else _content(call)
        if content in prints:
            return True
        prints.add(content)
        return False


def _content(call: Call) -> int:
    digests = (segment.digest for segment in call.prompt.segments())
    return hash((call.started_at, call.model, call.usage, call.status, *digests))
