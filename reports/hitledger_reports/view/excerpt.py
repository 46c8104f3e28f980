"""Two short windows of text, before and after, with the part that differs set apart."""

from msgspec import Struct

from hitledger.prefix import common_characters
from hitledger_reports.shown import EXCERPT, shown


class Side(Struct, frozen=True):
    """One window: what both have, what only this one has, what both have again. None: there is no text."""

    same: str
    differs: str
    tail: str

    @property
    def text(self) -> str:
        """The window in one piece."""
        return self.same + self.differs + self.tail


class Excerpt(Struct, frozen=True):
    """Both windows, and a remark where they cannot show the difference."""

    before: Side | None
    after: Side | None
    remark: str


def excerpt(before: str | None, after: str | None, show_secrets: bool = False) -> Excerpt:
    """Compare two windows from both ends."""
    left = None if before is None else shown(before, EXCERPT, show_secrets)
    right = None if after is None else shown(after, EXCERPT, show_secrets)
    if left is None or right is None:
        sides = [None if text is None else Side("", text, "") for text in (left, right)]
        return Excerpt(sides[0], sides[1], "")
    head = common_characters(left, right)
    most = min(len(left), len(right)) - head
    tail = min(common_characters(left[::-1], right[::-1]), most)
    remark = "The difference lies in a redacted part." if left == right else ""
    return Excerpt(_side(left, head, tail), _side(right, head, tail), remark)


def _side(text: str, head: int, tail: int) -> Side:
    return Side(text[:head], text[head : len(text) - tail], text[len(text) - tail :])
