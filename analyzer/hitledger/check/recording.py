"""The recorded traffic: calls with full prompts, those left out counted with the reason."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hitledger.audit import with_unique_ids
from hitledger.check.saved import NOTE, RecordedCounter, is_audit, recorded
from hitledger.errors import UsageError
from hitledger.expect import rule_of
from hitledger.logs.read import read_logs
from hitledger.policies.rule import Algorithm
from hitledger.policies.rules import Rules
from hitledger.positions import Counter as TokenCounts
from hitledger.types import Call, Evidence


@dataclass(frozen=True, slots=True)
class Recording:
    """Calls that can be simulated, in input order."""

    calls: tuple[Call, ...]
    left_out: dict[str, int]
    counter: TokenCounts
    from_audit: bool
    notes: tuple[str, ...]


def record(logs: Sequence[str], format: str | None, rules: Rules, counter: TokenCounts) -> Recording:
    """Read the logs. Raises NothingToReadError, UsageError."""
    audits = [path for path in logs if is_audit(path)]
    if audits and len(logs) > 1:
        raise UsageError("--logs: a saved audit stands alone")
    if audits:
        calls, counts = recorded(audits[0])
        return _chosen(calls, rules, RecordedCounter(counter, counts), True, (NOTE,))
    reading = read_logs(logs, format=format)
    calls = tuple(with_unique_ids(reading.calls()))
    skipped = sum(ledger.skipped for ledger in reading.ingest.ledgers)
    notes = (f"{skipped} damaged rows of the logs were skipped",) if skipped else ()
    return _chosen(calls, rules, counter, False, notes)


def _chosen(
    calls: Sequence[Call], rules: Rules, counter: TokenCounts, from_audit: bool, notes: tuple[str, ...]
) -> Recording:
    left_out: Counter[str] = Counter()
    kept: list[Call] = []
    for call in calls:
        reason = _unusable(call, rules)
        if reason:
            left_out[reason] += 1
        else:
            kept.append(call)
    return Recording(tuple(kept), dict(sorted(left_out.items())), counter, from_audit, notes)


def _unusable(call: Call, rules: Rules) -> str:
    if call.status >= 400:
        return "refused by the provider"
    if call.evidence is not Evidence.EXACT or not len(call.prompt):
        return "no full prompt in the log"
    rule = rule_of(call, rules)
    if rule is None or rule.algorithm is Algorithm.NONE:
        return "no published cache rule"
    return ""
