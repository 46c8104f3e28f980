"""What the changed span of a text looks like: a time, an identifier, or the state of a work tree."""

import re

from hitledger.prefix import common_characters

MAX_SPAN = 4096  # longer changed spans are not looked at for a pattern
REACH = 24  # how far a pattern may reach to the left of the first difference

# As text, for `re` to compile when first looked for: most audits look for none of them, and ignoring case makes them dear.
TIME = r"""(?xi)
    \d{4}-\d{1,2}-\d{1,2} | \d{1,2}[/.]\d{1,2}[/.]\d{2,4} | \d{4}[/.]\d{1,2}[/.]\d{1,2}
    | \d{1,2}:\d{2}(:\d{2})? | \b1[4-9]\d{8}(\d{3})?\b
    | \b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b
    | \b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)[a-z]*\b\.?\s+\d{1,4}
    | \b\d{1,2}(?:st|nd|rd|th)?\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)[a-z]*\b
    """
IDENTIFIER = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{22}|[A-Za-z0-9_-]{8,}")
WORK_TREE = (
    r"(?im)\b(git|branch|commits?|untracked|uncommitted|staged|cwd|work(ing)?[ -]?(tree|dir(ectory)?|folder))\b"
    r"|^[ MADRCU?]{1,2} \S+[/.]\S+$"
)
STATE = r"(?i)\b(status|modified|director(y|ies)|memory|memories|skills?|todos?|tasks?|files?|tabs|environment|env)\b"


def changed_span(old: str, new: str) -> tuple[int, str, str]:
    """(offset of the first difference, changed part of the old text, of the new): common ends cut off."""
    start = common_characters(old, new)
    end = common_characters(old[start:][::-1], new[start:][::-1])
    return start, old[start : len(old) - end], new[start : len(new) - end]


def is_time(old: str, new: str) -> bool:
    """Whether the first difference lies inside a time or date in both texts."""
    start, _, _ = changed_span(old, new)
    return _covers(TIME, old, start) and _covers(TIME, new, start)


def _covers(pattern: str, text: str, at: int) -> bool:
    first = max(0, at - REACH)
    part = text[first : at + REACH]
    return any(first + m.start() <= at < first + m.end() for m in re.finditer(pattern, part))


def is_identifier(old: str, new: str) -> bool:
    """Whether the whole change is one word with digits in it, of equal length in both texts."""
    start, before, after = changed_span(old, new)
    if not before or not after or max(len(before), len(after)) > MAX_SPAN:
        return False
    left, right = _word(old, start, len(before)), _word(new, start, len(after))
    if left is None or right is None or len(left) != len(right):
        return False
    return all(any(c.isdigit() for c in word) or _is_mixed(word) for word in (left, right))


def _word(text: str, start: int, length: int) -> str | None:
    first = max(0, start - 64)
    for match in IDENTIFIER.finditer(text, first, min(len(text), start + length + 64)):
        if match.start() <= start and start + length <= match.end():
            return match.group()
    return None


def _is_mixed(word: str) -> bool:
    return any(c.isupper() for c in word) and any(c.islower() for c in word)


def is_work_tree(old: str, new: str) -> bool:
    """Whether the change stands in, or right below, a line that speaks of the state of a work tree."""
    return bool(re.search(WORK_TREE, _around(old, new)))


def is_state(old: str, new: str) -> bool:
    """Whether the change stands near a line that speaks of files, memory, skills, tasks or the like."""
    return bool(re.search(STATE, _around(old, new)))


def _around(old: str, new: str) -> str:
    """The two lines up to the change, and the changed parts."""
    start, before, after = changed_span(old, new)
    line_start = new.rfind("\n", 0, max(0, new.rfind("\n", 0, start))) + 1
    return new[max(line_start, start - 200) : start + min(len(after), 400)] + "\n" + before[:400]
