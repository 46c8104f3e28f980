"""Where two prompts part: first by segment digests, then by characters inside the first unequal segment only."""

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any

import msgspec
import orjson

from hitledger.layouts.blocks import json_value
from hitledger.types import Prompt, Segment, Tier

APPEND_ONLY = "(none)"


class Difference(msgspec.Struct, frozen=True):
    """The first difference of a later prompt from an earlier one.

    `before` and `after` are the segments that stand at `index`; None where that prompt ends there (and `after` need not
    be known where the later prompt only adds to the earlier one). `path` is the JSON
    path of the first changed leaf in the later body, in the earlier one where the leaf is gone, `APPEND_ONLY` where
    the earlier prompt is a prefix. `char_offset` counts inside the leaf, `segment_offset` inside the segment's text.
    """

    index: int
    path: str
    before: Segment | None
    after: Segment | None
    char_offset: int | None = None
    segment_offset: int = 0
    leaf_before: str | None = None
    leaf_after: str | None = None

    @property
    def append_only(self) -> bool:
        """Whether the later prompt only adds to the earlier one."""
        return self.path == APPEND_ONLY


def common_segments(earlier: Prompt, later: Prompt) -> int:
    """How many leading segments are the same. Shared bases are not walked, so a transcript costs what it added."""
    if earlier is later or later.base is earlier:
        return earlier.length
    return parting(earlier, later)[0]


def parting(earlier: Prompt, later: Prompt) -> tuple[int, Segment | None, Segment | None]:
    """How many leading segments are the same, and the segments that stand there.

    None where a prompt ends, and where the later one extends the earlier: then nothing is looked at.
    """
    shared = _last_shared(earlier, later)
    if shared is earlier:
        return earlier.length, None, None
    start = 0 if shared is None else shared.length
    pairs = zip_longest(segments_from(earlier, start), segments_from(later, start))
    for offset, (left, right) in enumerate(pairs):
        if left is None or right is None or (left is not right and left.digest != right.digest):
            return start + offset, left, right
    return min(earlier.length, later.length), None, None


def _last_shared(earlier: Prompt, later: Prompt) -> Prompt | None:
    """The longest prompt that both are or extend; None where there is none."""
    left: Prompt | None = earlier
    right: Prompt | None = later
    while left is not right and left is not None and right is not None:
        if left.length > right.length:
            left = left.base
        elif right.length > left.length:
            right = right.base
        elif _adds_nothing(left):
            left = left.base
        elif _adds_nothing(right):
            right = right.base
        else:
            left, right = left.base, right.base
    return left if left is right else None


def _adds_nothing(prompt: Prompt) -> bool:
    """Of two prompts of the same length one can extend the other by nothing: then only that one goes back."""
    return prompt.base is not None and prompt.base.length == prompt.length


def segments_from(prompt: Prompt, start: int) -> Iterator[Segment]:
    """The segments from an index on, one by one; what stands before is not looked at, but for a shared part's rest."""
    nodes: list[Prompt] = []
    for node in prompt.lineage():
        if node.length <= start:
            break
        nodes.append(node)
    for node in reversed(nodes):
        before = node.base.length if node.base is not None else 0
        yield from islice(node.pieces(), max(0, start - before), None)


def first_difference(earlier: Prompt, later: Prompt) -> Difference:
    """Compare two prompts. Linear in what they do not share."""
    index, before, after = parting(earlier, later)
    if before is None:
        return Difference(index, APPEND_ONLY, None, after)
    if after is None:
        return Difference(index, before.path, before, None)
    if before.tier is not after.tier:
        return _across_tiers(index, before, after)
    if before.text is None or after.text is None or before.kind is not after.kind:
        return Difference(index, _element(after.path), before, after, 0, 0, before.text, after.text)
    return _inside(index, before, after)


def _across_tiers(index: int, before: Segment, after: Segment) -> Difference:
    """Tools gone: the place is where they stood. Tools new: the place is where they stand now."""
    rank = {Tier.TOOLS: 0, Tier.SYSTEM: 1, Tier.MESSAGES: 2}
    if rank[before.tier] < rank[after.tier]:
        return Difference(index, _element(before.path), before, after, 0, 0, before.text, None)
    return Difference(index, _element(after.path), before, after, 0, 0, None, after.text)


def _element(path: str) -> str:
    return path.removesuffix(".text")


def _inside(index: int, before: Segment, after: Segment) -> Difference:
    old, new = before.text or "", after.text or ""
    offset = common_characters(old, new)
    leaf = None
    if before.path.endswith(("]", "function_call")) and old[:1] in "{[" and new[:1] in "{[":
        leaf = _first_leaf(json_value(old), json_value(new), after.path)
    if leaf is None:
        return Difference(index, after.path, before, after, offset, offset, old, new)
    path, leaf_before, leaf_after = leaf
    inner = common_characters(leaf_before, leaf_after) if None not in (leaf_before, leaf_after) else None  # type: ignore[arg-type]
    return Difference(index, path, before, after, inner, offset, leaf_before, leaf_after)


def _first_leaf(old: Any, new: Any, path: str) -> tuple[str, str | None, str | None] | None:
    """Path and text of the first leaf that differs, in the order the later one has its keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) == list(new):
            for key, value in new.items():
                if orjson.dumps(old[key]) != orjson.dumps(value):
                    return _first_leaf(old[key], value, f"{path}.{key}")
            return None
        return _first_key(old, new, path)
    if isinstance(old, list) and isinstance(new, list):
        for number, (left, right) in enumerate(zip(old, new, strict=False)):
            if orjson.dumps(left) != orjson.dumps(right):
                return _first_leaf(left, right, f"{path}[{number}]")
        shorter = min(len(old), len(new))
        return f"{path}[{shorter}]", _dump(old, shorter), _dump(new, shorter)
    if isinstance(old, str) and isinstance(new, str):
        return path, old, new
    return path, orjson.dumps(old).decode(), orjson.dumps(new).decode()


def _first_key(old: dict[str, Any], new: dict[str, Any], path: str) -> tuple[str, str | None, str | None] | None:
    """Keys differ in order or in number: an earlier value that changed comes first, then the first key out of place."""
    for left, right in zip(old, new, strict=False):
        if left != right:
            return path, orjson.dumps(old).decode(), orjson.dumps(new).decode()
        if orjson.dumps(old[left]) != orjson.dumps(new[right]):
            return _first_leaf(old[left], new[right], f"{path}.{left}")
    key = list(new)[len(old)] if len(new) > len(old) else list(old)[len(new)]
    return f"{path}.{key}", _dump_key(old, key), _dump_key(new, key)


def _dump(values: list[Any], index: int) -> str | None:
    return orjson.dumps(values[index]).decode() if index < len(values) else None


def _dump_key(values: dict[str, Any], key: str) -> str | None:
    return orjson.dumps(values[key]).decode() if key in values else None


def common_characters(old: str, new: str) -> int:
    """Length of the common prefix of two texts, by halving: each step is one memory comparison."""
    low, high = 0, min(len(old), len(new))
    if old[:high] == new[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle
    return low


def first_leaf(old: Any, new: Any, path: str) -> str:
    """JSON path of the first leaf in which two values differ; `path` itself where they are equal."""
    found = _first_leaf(old, new, path)
    return found[0] if found else path
