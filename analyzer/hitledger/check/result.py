"""The check as a value, and its JSON."""

from dataclasses import dataclass
from decimal import Decimal

import msgspec

from hitledger.check.bootstrap import Spread
from hitledger.check.figures import Amounts, Shares, Tokens
from hitledger.check.findings import CheckFinding, Level
from hitledger.check.moves import Move
from hitledger.outfile import write_file
from hitledger.types import Certainty

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule of the verdict. `value` None: it could not be measured, and the rule fails."""

    name: str
    value: Decimal | None
    limit: Decimal
    unit: str  # findings | changed files in no recorded call | percentage points | % | USD a day | USD | tokens a call
    passed: bool

    def __str__(self) -> str:
        """The rule with its value and its limit."""
        value = "not known" if self.value is None else f"{self.value:f}"
        return f"{self.name}: {value}, limit {self.limit:f} {self.unit}"


@dataclass(frozen=True, slots=True)
class SessionEffect:
    """One recorded session under both prompts. `path`: the first value that differs, "" where nothing does."""

    id: str
    calls: int
    calls_substituted: int
    hit_rate: Shares
    cost: Amounts
    input_tokens: Tokens
    path: str
    rewritten_tokens: int  # written again at the deploy, because they were warm
    broken_calls: int  # that read less at the deploy than they would have without it


@dataclass(frozen=True, slots=True)
class Ttft:
    """Mean milliseconds to the first token by the fitted model of a replay, on that replay's engine."""

    before_ms: float
    after_ms: float
    engine: str
    model: str
    device: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """A deploy by and by: what it costs more than either version alone would."""

    shares: tuple[tuple[float, float], ...]  # minutes after the start, share of calls on the candidate
    cost: Decimal | None
    calls_on_candidate: int
    rewritten_tokens: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Recorded calls under both prompts, by the providers' rules."""

    calls: int  # simulated on both sides
    calls_substituted: int  # those in whose prompt the baseline stands
    calls_left_out: dict[str, int]  # by reason
    sessions: int
    sessions_substituted: int
    unmeasured: tuple[str, ...]  # changed files whose baseline stands in no call
    days: Decimal
    reported_hit_rate: float | None  # what the provider said of the same calls
    input_tokens: Tokens
    cost: Amounts  # of all simulated calls
    warm_sessions: int  # that have to write again at the deploy
    rewritten_tokens: int
    deploy_at: str  # "": the log has no times
    certainty: Certainty
    rules: tuple[str, ...]
    unpriced: tuple[str, ...]
    cost_per_session: Amounts
    spread: Spread | None
    rollout: Rollout | None
    ttft: Ttft | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a change of a prompt does. Without recorded traffic the figures of it are None."""

    schema_version: int
    baseline: str | None
    candidate: str
    verdict: str  # pass | fail
    rules: tuple[RuleResult, ...]
    hit_rate: Shares | None
    one_off_cost: Decimal | None
    cost_per_day: Amounts | None
    cost_per_1000_calls: Amounts | None
    sessions: tuple[SessionEffect, ...]
    volatile: tuple[CheckFinding, ...]
    findings: tuple[CheckFinding, ...]  # cache marks
    move: Move | None
    move_saves_per_1000_calls: Decimal | None
    traffic: Traffic | None

    @property
    def passed(self) -> bool:
        """Whether no rule failed."""
        return self.verdict == "pass"

    @property
    def all_findings(self) -> tuple[CheckFinding, ...]:
        """Volatile text and marks."""
        return self.volatile + self.findings

    @property
    def open(self) -> tuple[CheckFinding, ...]:
        """The findings to act on: no notes, and none that are known."""
        return tuple(one for one in self.all_findings if one.level is not Level.NOTE and not one.known)


def to_json(result: CheckResult) -> bytes:
    """Same result, same bytes: sorted keys, money as decimal strings."""
    return msgspec.json.encode(result, order="sorted") + b"\n"


def save(result: CheckResult, path: str) -> None:
    """Raises HitledgerError where the file cannot be written."""
    write_file(path, to_json(result))
