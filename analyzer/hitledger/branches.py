"""What a call left readable for another one that branches off in front of its end."""

from hitledger.expect import Expectation
from hitledger.prefix import common_segments


def left_in_front(before: Expectation, now: Expectation) -> int:
    """Tokens of the longest entry that ends within what the two prompts share, whatever time and parameters say."""
    view = before.view
    shared = common_segments(view.prompt, now.view.prompt)
    if not before.rule.algorithm.writes_at_marks:
        return view.tokens_at(shared) // before.rule.block * before.rule.block
    ends = [mark.position for mark in view.written if mark.position <= shared]
    written = view.tokens_at(max(ends, default=0))
    read = before.forecast.read if 0 < before.forecast.position <= shared else 0
    return max(written, read)
