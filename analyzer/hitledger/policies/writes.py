"""What a request with marks is billed for writing."""

from hitledger.policies.view import Mark, View

Writes = tuple[tuple[str, int], ...]  # lifetime, tokens


def written_behind(view: View, read: int) -> Writes:
    """What the rule says a request writes behind `read` tokens."""
    if view.client_ttl is not None:
        ttl, position = view.client_ttl, view.prompt.length
    else:
        marks = view.written
        if not marks:
            return ()
        ttl, position = marks[-1].ttl, marks[-1].position
        if any(mark.ttl != ttl for mark in marks):
            return _mixed_writes(view, marks, read)
    end = view.tokens_at(position)
    return ((ttl, end - read),) if end > read and end >= view.terms.minimum else ()


def _mixed_writes(view: View, marks: tuple[Mark, ...], read: int) -> Writes:
    """Mixed lifetimes are billed as 1h: B - A, 5m: C - B (A read, B the last long mark beyond it, C the last mark).

    Source: Anthropic, prompt caching, "mixing different TTLs".
    """
    written: list[tuple[str, int]] = []
    start = read
    longest_first = sorted({mark.ttl for mark in marks}, key=lambda ttl: -(view.rule.seconds(ttl) or 0))
    for ttl in longest_first:
        ends = [view.tokens_at(mark.position) for mark in marks if mark.ttl == ttl]
        end = max((tokens for tokens in ends if tokens >= view.terms.minimum), default=0)
        if end > start:
            written.append((ttl, end - start))
            start = end
    return tuple(written)
