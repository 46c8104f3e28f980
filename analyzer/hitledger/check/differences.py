"""All differing spans of two renders of one prompt, named as the audit names them."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

import orjson
from msgspec import structs

from hitledger.causes import messages, system, tools
from hitledger.causes.case import Case, Confidence, Diagnosis
from hitledger.check.leaves import Leaf, differing_leaves
from hitledger.check.material import Material, call_of
from hitledger.check.spans import Span, differing_spans
from hitledger.prefix import Difference, first_difference
from hitledger.types import Kind, Prompt, Segment, Tier, prompt_of

UNSORTED = "the same parts in another order: an unsorted set or map"
# What a condition alone can change has that cause, whatever its text looks like.
BY_CONDITION = (
    ("clock", "system.volatile_time"),
    ("time zone", "system.volatile_time"),
    ("working folder", "system.env_state"),
    ("environment", "system.env_state"),
)


@dataclass(frozen=True, slots=True)
class Differing:
    """A span of the reference (segment `index`, characters `start` to `end` of the value at `path`) that changed."""

    index: int
    path: str
    start: int
    end: int
    before: str  # the whole value
    after: str
    after_start: int
    cause: str
    confidence: Confidence
    note: str = ""


def differences(reference: Material, other: Material, condition: str) -> Iterator[Differing]:
    """Every span of the reference that differs in the other render."""
    old, new = reference.prompt, other.prompt
    if [segment.digest for segment in old.own] == [segment.digest for segment in new.own]:
        return
    case = _case(reference, other, old, new)
    yield from _of_tools(old, new, case)
    for tier in (Tier.SYSTEM, Tier.MESSAGES):
        for index, before, after in _pairs(old, new, tier):
            yield from _of_pair(index, before, after, case, condition)


def _case(reference: Material, other: Material, old: Prompt, new: Prompt) -> Case:
    before, call = call_of(reference), call_of(other)
    return Case(
        call=call, before=before, rule=None, expectation=None, prompt_before=old, prompt=new, used_before=old,
        used=new, difference=first_difference(old, new), boundary=len(old), parameters=(), route=(), readable_before=0,
        read=0, gap_seconds=None, ttl_seconds=None, side=False,
    )  # fmt: skip


def _of_tools(old: Prompt, new: Prompt, case: Case) -> Iterator[Differing]:
    left, right = tools.tools_of(old), tools.tools_of(new)
    if [tool.digest for tool in left] == [tool.digest for tool in right]:
        return
    starts = {tool.path: index for index, tool in enumerate(old.own)}
    if [tool.name for tool in left] != [tool.name for tool in right]:
        whole = tools.diagnose(case)
        names = (", ".join(tool.name for tool in left), ", ".join(tool.name for tool in right))
        index = starts.get(whole.path, 0)
        yield Differing(index, whole.path, 0, 0, *names, 0, whole.cause, whole.confidence, whole.note)
    by_name = {tool.name: tool for tool in right}
    for tool in left:
        twin = by_name.get(tool.name)
        if twin is None or twin.digest == tool.digest:
            continue
        for leaf in differing_leaves(orjson.loads(tool.text or "null"), orjson.loads(twin.text or "null"), tool.path):
            cause = "tools.key_order" if leaf.moved and not leaf.before.startswith("[") else "tools.text_changed"
            yield _of_leaf(starts[tool.path], leaf, cause)


def _of_leaf(index: int, leaf: Leaf, cause: str) -> Differing:
    spans = differing_spans(leaf.before, leaf.after)
    span = Span((0, len(leaf.before)), (0, len(leaf.after))) if leaf.moved or not spans else spans[0]
    return Differing(
        index, leaf.path, span.old[0], span.old[1], leaf.before, leaf.after, span.new[0], cause,
        Confidence.CERTAIN, UNSORTED if leaf.moved else "",
    )  # fmt: skip


def _pairs(old: Prompt, new: Prompt, tier: Tier) -> Iterator[tuple[int, Segment | None, Segment | None]]:
    """Segments of a tier that differ, paired; None where one side has nothing there."""
    left = [(index, segment) for index, segment in enumerate(old.own) if segment.tier is tier]
    right = [segment for segment in new.own if segment.tier is tier]
    opcodes = SequenceMatcher(
        None, [segment.digest for _, segment in left], [segment.digest for segment in right], autojunk=False
    ).get_opcodes()
    for tag, i1, i2, j1, j2 in opcodes:
        if tag == "equal":
            continue
        for step in range(max(i2 - i1, j2 - j1)):
            before = left[i1 + step] if i1 + step < i2 else None
            after = right[j1 + step] if j1 + step < j2 else None
            index = before[0] if before else (left[i1][0] if i1 < len(left) else max(0, len(old) - 1))
            yield index, before[1] if before else None, after


def _of_pair(
    index: int, before: Segment | None, after: Segment | None, case: Case, condition: str
) -> Iterator[Differing]:
    if before is None or after is None:
        only = before or after
        if only is not None:
            cause = "system.swapped" if only.tier is Tier.SYSTEM else "messages.edited_in_place"
            texts = (before.text or "" if before else "", after.text or "" if after else "")
            note = "the block comes and goes"
            yield Differing(index, only.path, 0, len(texts[0]), *texts, 0, cause, Confidence.LIKELY, note)
        return
    old, new = before.text or "", after.text or ""
    if before.kind not in (Kind.SYSTEM, Kind.TEXT) or not differing_spans(old, new):
        found = messages.diagnose(_narrowed(case, before, after))
        yield Differing(index, before.path, 0, len(old), old, new, 0, found.cause, found.confidence, found.note)
        return
    for span in differing_spans(old, new):
        found = _diagnosis(span, before, after, case, condition)
        yield Differing(
            index, before.path, *span.old, old, new, span.new[0], found.cause, found.confidence, found.note
        )  # fmt: skip


def _diagnosis(span: Span, before: Segment, after: Segment, case: Case, condition: str) -> Diagnosis:
    """The cause of one span, all others taken as they were."""
    old = before.text or ""
    alone = structs.replace(after, text=span.alone(old, after.text or ""))
    if before.tier is not Tier.SYSTEM:
        return messages.diagnose(_narrowed(case, before, alone))
    if _same_words(old[slice(*span.old)], (after.text or "")[slice(*span.new)]):
        return Diagnosis("system.volatile_text", Confidence.CERTAIN, "", UNSORTED)
    for start, cause in BY_CONDITION:
        if condition.startswith(start):
            return Diagnosis(cause, Confidence.CERTAIN)
    return system.diagnose(_narrowed(case, before, alone))


def _same_words(old: str, new: str) -> bool:
    left, right = (sorted(text.replace(",", " ").split()) for text in (old, new))
    return len(left) > 1 and left == right


def _narrowed(case: Case, before: Segment, after: Segment) -> Case:
    """The same case about one pair of segments only."""
    difference = Difference(0, after.path, before, after, 0, 0, before.text, after.text)
    return structs.replace(case, prompt_before=prompt_of((before,)), prompt=prompt_of((after,)), difference=difference)
