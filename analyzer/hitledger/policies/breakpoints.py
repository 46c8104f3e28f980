"""Where a request with Anthropic-like marks looks: from each mark a number of positions back."""

from collections.abc import Iterator

from hitledger.policies.view import EntryKey, View
from hitledger.types import Kind, Prompt

RUN_KINDS = (Kind.TOOL_USE, Kind.TOOL_RESULT)


def reach(view: View) -> Iterator[tuple[int, EntryKey]]:
    """Positions where an entry may be found, with their keys, longest first."""
    if view.prompt.base is not None:
        return _in_transcript(view)
    positions = (position for mark in reversed(view.marks) for position in _back_from(view, mark.position))
    return ((position, view.key(position)) for position in positions)


def _in_transcript(view: View) -> Iterator[tuple[int, EntryKey]]:
    """A transcript has entries at the ends of its calls' prompts only, and at the mark on its hidden head.

    No segment is looked at before something further back than the look-back is asked for.
    """
    nearest, farthest = view.length - view.rule.lookback, None
    node: Prompt | None = view.prompt
    while node is not None:
        if node.length <= nearest:
            if farthest is None:
                farthest = _farthest(view)
            if node.length < farthest:
                break
        if node.length:
            yield node.length, (node, view.whole_salt) if node.base is not None else view.head
        node = node.base
    yield from ((mark.position, view.key(mark.position)) for mark in view.marks[-2::-1])


def _farthest(view: View) -> int:
    """How far back the marks of a transcript's client look: its last message is marked, and the one before it.

    Claude Code does so (31 captured requests have two marks in the system part and one on each of the last two
    messages), and its transcripts show it: entries 21 positions back are read where the last message has several
    blocks, and missed where it has one.
    """
    from_end = _last_from(view, view.length)
    last, _ = view.prompt.last_message()
    if last >= view.length:
        return from_end
    return min(from_end, _last_from(view, view.length - last))


def _last_from(view: View, position: int) -> int:
    """The position farthest back that a mark looks at."""
    if not view.rule.collapse_runs:
        return max(1, position - view.rule.lookback + 1)
    *_, last = _back_from(view, position)
    return last


def _back_from(view: View, position: int) -> Iterator[int]:
    """A mark and the positions before it, `lookback` in all; a run of one kind can count as one position."""
    left = view.rule.lookback
    previous: Kind | None = None
    while position > 0:
        kind = view.segment(position - 1).kind if view.rule.collapse_runs else None
        in_run = kind in RUN_KINDS and kind is previous
        if not in_run:
            if left == 0:
                return
            left -= 1
        yield position
        previous = kind
        position -= 1
