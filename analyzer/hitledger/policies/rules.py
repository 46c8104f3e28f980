"""Which rule holds for a call: by provider, model, API, marks and the call's own time."""

from collections.abc import Mapping
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path

from hitledger.policies.rule import Rule, matches
from hitledger.policies.rulefile import read_rule_file, rules_of, shipped_files, shipped_rules
from hitledger.types import Call, Evidence, Tier

# Values that say what leaving the field out says as well: naming one of them changes nothing.
DEFAULTS: dict[str, frozenset[str]] = {
    "tool_choice": frozenset({'"auto"', '{"type":"auto"}', '{"disable_parallel_tool_use":false,"type":"auto"}'}),
    "parallel_tool_calls": frozenset({"true"}),
    "thinking": frozenset({'{"type":"disabled"}', "false"}),
    "speed": frozenset({'"standard"'}),
    "service_tier": frozenset({'"auto"'}),
    "response_format": frozenset({'{"type":"text"}'}),
    "verbosity": frozenset({'"medium"'}),
}
MARKING_APIS = frozenset({"messages", "converse"})


class Rules:
    """All known rules. Picks the one for a call."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules
        self._candidates: dict[tuple[str, str, str, int], tuple[Rule, ...]] = {}

    @property
    def all(self) -> tuple[Rule, ...]:
        """In the order in which they are tried."""
        return self._rules

    def of(self, provider: str) -> tuple[Rule, ...]:
        """Those among which the ones of a provider are."""
        return self._rules

    def pick(self, call: Call) -> Rule | None:
        """The first rule that applies; None where none is published for that provider, model and day.

        A call without a time is judged by the newest rule; the caller says so.
        """
        day = call.started_at.toordinal() if call.started_at else date.max.toordinal()
        key = (call.provider, call.model, call.api, day)
        found = self._candidates.get(key)
        if found is None:
            asked = (*key[:3], date.fromordinal(day))
            found = self._candidates[key] = tuple(rule for rule in self.of(call.provider) if rule.applies(*asked))
        if not found or found[0].marked is None:
            return found[0] if found else None
        marked = has_marks(call)
        return next((rule for rule in found if rule.marked in (None, marked)), None)


class ShippedRules(Rules):
    """The rules that come with the package. A provider's file is read when a call of it is judged."""

    def __init__(self) -> None:
        super().__init__(())

    @cached_property
    def all(self) -> tuple[Rule, ...]:
        """File by file; each is checked as a user's would be."""
        return rules_of(shipped_files())

    def of(self, provider: str) -> tuple[Rule, ...]:
        """Its own and those that it inherits."""
        return shipped_rules(provider)


def has_marks(call: Call) -> bool:
    """Whether a request has cache marks. A transcript does not show them: there the API decides, as its clients do."""
    if call.evidence is Evidence.EXACT:
        return any(segment.mark is not None for segment in call.prompt.segments())
    return call.api in MARKING_APIS


@lru_cache(maxsize=1)
def shipped() -> Rules:
    """The rules that come with the package."""
    return ShippedRules()


def rules_with(own: Path | None) -> Rules:
    """The shipped rules behind those of the user's file, so that the user's win. Raises RuleFileError."""
    if own is None:
        return shipped()
    return Rules(rules_of((read_rule_file(own), *shipped_files())))


def salts(rule: Rule, call: Call) -> Mapping[Tier, str]:
    """Per tier, the parameters whose change loses that tier: two prompts share it only where these are equal."""
    values = {p.name: p.value for p in call.parameters if p.value not in DEFAULTS.get(p.name, ())}
    found: dict[Tier, str] = {}
    carried = ""
    for tier in rule.order:
        names = sorted(
            row.change
            for row in rule.invalidates
            if row.tier is tier and (not row.models or matches(call.model, row.models))
        )
        carried += "".join(f"{name}={values[name]};" for name in names if name in values)
        found[tier] = carried
    return found
