"""A request parameter that is part of what the cache is found by."""

import orjson

from hitledger.causes.case import Case, Change, Confidence, Diagnosis, tier_start
from hitledger.expect import slack_of
from hitledger.policies.rule import matches
from hitledger.prefix import common_characters, first_leaf
from hitledger.types import Evidence, Tier

# Where sources disagree, or it depends on the model, how much a change loses: the usage decides, the cause is likely.
DISPUTED = frozenset({"tool_choice", "effort", "speed", "service_tier"})


def first_change(case: Case) -> tuple[int, Change] | None:
    """The change that loses the most by the rule, with the index of the first segment it loses."""
    rule = case.rule
    if rule is None:
        return None
    found: list[tuple[int, Change]] = []
    for change in case.parameters:
        tiers = [
            row.tier
            for row in rule.invalidates
            if row.change == change.name and (not row.models or matches(case.call.model, row.models))
        ]
        found += [(_start(case, tier), change) for tier in tiers]
    return min(found, key=lambda item: item[0]) if found else None


def explains(case: Case) -> bool:
    """Whether the read is what the rule leaves readable across the change, or less for want of anything else.

    A transcript does not hold tools and system: where less was read than they take, something in there broke first.
    And where an older entry with these very parameters was still alive, going back to them costs nothing.
    """
    expectation = case.expectation
    if expectation is None or case.rule is None or case.rule.best_effort:
        return True
    expected = expectation.forecast.read
    slack = slack_of(expected)
    if case.read >= expected - slack:
        return True
    return case.call.evidence is Evidence.EXACT and expected < case.readable_before - slack


def _start(case: Case, tier: Tier) -> int:
    later = case.rule.order[case.rule.order.index(tier) :] if case.rule else (tier,)
    # The later of the two starts: what was removed in front of a tier changed before the tier did.
    return max(min(tier_start(prompt, part) for part in later) for prompt in (case.prompt_before, case.prompt))


def diagnose(change: Change) -> Diagnosis:
    """The cause a parameter change stands for, at the leaf that differs."""
    old = change.before.value if change.before else None
    new = change.after.value if change.after else None
    path = change.path
    if old is not None and new is not None:
        path = _leaf(orjson.loads(old), orjson.loads(new), path)
    confidence = Confidence.LIKELY if change.name in DISPUTED else Confidence.CERTAIN
    offset = common_characters(old, new) if old is not None and new is not None else 0
    return Diagnosis(f"param.{change.name}", confidence, path, "", offset, old, new)


def _leaf(old: object, new: object, path: str) -> str:
    """The first field present in both that differs; else where the two values part."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in new:
            if key in old and old[key] != new[key]:
                return _leaf(old[key], new[key], f"{path}.{key}")
    return first_leaf(old, new, path)
