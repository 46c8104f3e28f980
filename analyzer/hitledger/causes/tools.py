"""The tool definitions changed: their order, their set, their text, or only the order of their keys."""

from collections import Counter

from hitledger.causes.case import Case, Confidence, Diagnosis
from hitledger.layouts.blocks import json_value
from hitledger.types import Kind, Prompt, Segment


def diagnose(case: Case) -> Diagnosis:
    """Compare the two tool lists as a whole; the place is the first tool that differs."""
    old, new = tools_of(case.prompt_before), tools_of(case.prompt)
    place = _first_unequal(old, new)
    if Counter(tool.digest for tool in old) == Counter(tool.digest for tool in new):
        return Diagnosis("tools.reordered", Confidence.CERTAIN, place, _moved(old, new))
    old_names, new_names = {tool.name for tool in old}, {tool.name for tool in new}
    if old_names != new_names:
        return Diagnosis("tools.set_changed", Confidence.CERTAIN, place, _set_note(old_names, new_names))
    if [tool.name for tool in old] != [tool.name for tool in new]:
        return Diagnosis("tools.reordered", Confidence.LIKELY, place, "the order changed, and some texts with it")
    if all(json_value(left.text) == json_value(right.text) for left, right in zip(old, new, strict=True)):
        note = "the JSON values are equal, the order of keys is not; whether that breaks depends on the provider"
        return Diagnosis("tools.key_order", Confidence.LIKELY, "", note)
    return Diagnosis("tools.text_changed", Confidence.CERTAIN)


def tools_of(prompt: Prompt) -> list[Segment]:
    """The tool segments of a prompt."""
    return [segment for segment in prompt.segments() if segment.kind is Kind.TOOL]


def _first_unequal(old: list[Segment], new: list[Segment]) -> str:
    for left, right in zip(old, new, strict=False):
        if left.digest != right.digest:
            return right.path
    longer = new if len(new) > len(old) else old
    shorter = min(len(old), len(new))
    if not new:
        return "tools"
    return longer[shorter].path if shorter < len(longer) else ""


def _moved(old: list[Segment], new: list[Segment]) -> str:
    moved = [tool.name for tool, other in zip(new, old, strict=True) if tool.digest != other.digest]
    return f"{len(moved)} of {len(new)} tools stand elsewhere"


def _set_note(old: set[str], new: set[str]) -> str:
    parts = []
    if new - old:
        parts.append(f"added: {_listed(new - old)}")
    if old - new:
        parts.append(f"removed: {_listed(old - new)}")
    return "; ".join(parts)


def _listed(names: set[str]) -> str:
    shown = sorted(names)[:5]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")
