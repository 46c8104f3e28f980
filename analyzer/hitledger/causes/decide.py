"""The decision order: route, parameters and content by place, then time and marks, then rendering; else unexplained."""

from msgspec.structs import replace

from hitledger.causes import marks, messages, parameters, rendering, routing, system, timing, tools
from hitledger.causes.case import Case, Confidence, Diagnosis
from hitledger.causes.rendering import Rerender
from hitledger.prefix import APPEND_ONLY
from hitledger.types import Evidence, Tier

UNEXPLAINED = Diagnosis(
    "unexplained",
    Confidence.POSSIBLE,
    APPEND_ONLY,
    "nothing in the payload, the parameters, the time or the route explains it",
)

# Where part of the prompt is not in the log, that nothing changed in it cannot be said.
UNSEEN = {
    Evidence.RECONSTRUCTED: "nothing that the log has explains it; what the log lacks of the prompt (system prompt, tools) "
    "may have changed",
    Evidence.USAGE_ONLY: "nothing that the log has explains it; the prompt, which may have changed, is not in the log",
}


def decide(case: Case, rerender: Rerender | None = None) -> Diagnosis:
    """The cause of a loss. What lies first in the prompt decides; the usage decides how much was lost."""
    if case.before.engine is None or case.before.route != case.call.route or case.before.model != case.call.model:
        routed = routing.diagnose(case)
        if routed is not None:
            return routed
    if rerender is not None and case.before.prompt_ids and rerender.common >= len(case.before.prompt_ids):
        return rendering.diagnose(case, rerender) or UNEXPLAINED  # the two part inside what was generated
    changed = parameters.first_change(case)
    if changed is not None and (not case.content_changed or changed[0] <= case.difference.index):
        if parameters.explains(case):
            return parameters.diagnose(changed[1])
        return unexplained_beside(changed[1].name, case)
    if case.content_changed:
        return _content(case)
    found = (
        timing.expired(case)
        or timing.stripped(case)
        or timing.cold_fanout(case)
        or timing.beyond_lookback(case)
        or marks.diagnose(case)
        or rendering.diagnose(case, rerender)
        or messages.reshaped(case)
    )
    return found or UNEXPLAINED


def unexplained(evidence: Evidence) -> Diagnosis:
    """No reason was found, in as much of the request as the log has."""
    note = UNSEEN.get(evidence)
    return UNEXPLAINED if note is None else replace(UNEXPLAINED, note=note)


def unexplained_beside(name: str, case: Case) -> Diagnosis:
    """A parameter changed, yet by the rule more stays readable across the change than was read."""
    expected = case.expectation.forecast.read if case.expectation else 0
    note = (
        f"{name} changed too, but by the rule {expected:,} tokens stay readable across that and {case.read:,} were read"
    )
    return replace(UNEXPLAINED, note=note)


def _content(case: Case) -> Diagnosis:
    if case.side or case.call.purpose == "compaction":
        return messages.diagnose(case)
    segment = case.difference.before or case.difference.after
    after = case.difference.after or segment
    tiers = {part.tier for part in (segment, after) if part is not None}
    if Tier.TOOLS in tiers:
        return tools.diagnose(case)
    if Tier.SYSTEM in tiers:
        return system.diagnose(case)
    return messages.diagnose(case)
