"""`--policy NAME`: let the engine's cache behave like a provider's in what an engine alone would never show.

A local engine keeps a block until it needs the room, whatever the model, account or hour. With a policy, entries die
after the provider's lifetime (on the virtual clock of the log), calls of another model, account or route meet another
cache, and prompts below the model's minimum leave nothing. Look-back and marks are not simulated: the engine reads any
prefix. Rules and minimums are the dated ones of the audit.
"""

from dataclasses import dataclass

from hitledger.errors import UsageError
from hitledger.expect import key_of, rule_of
from hitledger.lifetimes import seconds_of
from hitledger.policies.rules import Rules, shipped
from hitledger.types import Call


@dataclass(frozen=True, slots=True)
class ProviderPolicy:
    """`seconds` is how long an entry lives after its last use."""

    name: str
    seconds: int

    def partition(self, call: Call) -> str:
        """Calls with different partitions share nothing."""
        return "|".join(key_of(call))

    def minimum(self, call: Call, rules: Rules) -> int:
        """Prompts of fewer tokens leave nothing; 0 where no minimum is known."""
        rule = rule_of(call, rules)
        return rule.minimum(call.model) if rule is not None else 0


def parse_policy(name: str) -> ProviderPolicy:
    """`PROVIDER-LIFETIME`, like anthropic-5m, anthropic-1h, openai-10m. Raises UsageError."""
    provider, separator, lifetime = name.rpartition("-")
    seconds = seconds_of(lifetime)
    if not separator or not provider or not seconds:
        raise UsageError(f"--policy {name}: give PROVIDER-LIFETIME, such as anthropic-5m, anthropic-1h or openai-10m")
    known = sorted({rule.provider for rule in shipped().all})
    if provider not in known:
        raise UsageError(f"--policy {name}: no rules of {provider!r}; known: {', '.join(known)}")
    return ProviderPolicy(name, seconds)
