"""The check: sources -> static part -> substitution into recorded traffic -> rules -> one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from hitledger.check import known
from hitledger.check.figures import usd
from hitledger.check.limits import Limits
from hitledger.check.moves import Move
from hitledger.check.pairs import pairs_of, unpaired
from hitledger.check.recording import Recording, record
from hitledger.check.result import SCHEMA_VERSION, CheckResult
from hitledger.check.runner import Place
from hitledger.check.sources import Source, load, load_changed
from hitledger.check.static import Static, examine
from hitledger.check.traffic import Effect, TrafficOptions, effect
from hitledger.check.verdict import Evidence, rules_of
from hitledger.errors import UsageError
from hitledger.policies.rules import Rules, shipped
from hitledger.prices import PriceBook, Rates
from hitledger.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What a check can be asked for. `files`: changed files, each against its text in the git revision `against`."""

    baseline: str | None = None
    candidate: str | None = None
    files: tuple[str, ...] = ()
    against: str = "HEAD"
    logs: tuple[str, ...] = ()
    format: str | None = None
    limits: Limits = field(default_factory=Limits)
    known: str | None = None
    prices: Path | None = None
    rules: Rules | None = None  # None: those that come with the package
    tokenizers: Mapping[str, Path] = field(default_factory=dict)
    place: Place = field(default_factory=lambda: Place(Path.cwd()))
    traffic: TrafficOptions = field(default_factory=TrafficOptions)


def check(options: CheckOptions) -> CheckResult:
    """Check a change. Raises UsageError, NothingToReadError, RenderError."""
    baseline, candidate = _sources(options)
    new_files_alone = bool(options.files) and baseline is None  # nothing of them was deployed yet
    if options.limits.need_traffic and not new_files_alone and not (options.logs and baseline):
        raise UsageError("limits on the hit rate, cost or tokens need --baseline and --logs")
    counter, rules = TokenCounter(dict(options.tokenizers)), options.rules or shipped()
    before = examine(baseline, counter, rules) if baseline is not None else None
    after = _with_known(examine(candidate, counter, rules), before, options.known)
    found: Effect | None = None
    saves: Decimal | None = None
    if baseline is not None and options.logs:
        book = PriceBook(options.prices)
        recording = record(options.logs, options.format, rules, counter)
        found = effect(recording, pairs_of(baseline.parts, candidate.parts), rules, book, options.traffic)
        alone = tuple(f"Not measured: {part} is on one side only" for part in unpaired(baseline.parts, candidate.parts))
        found = replace(found, traffic=replace(found.traffic, notes=(*found.traffic.notes, *alone)))
        saves = _saving(after.move, recording, book) if after.move is not None else None
    return _result(options, baseline, candidate, after, found, saves)


def _sources(options: CheckOptions) -> tuple[Source | None, Source]:
    if options.files:
        if options.baseline or options.candidate:
            raise UsageError("give files, or --baseline and --candidate, not both")
        return load_changed(options.files, options.against)
    if options.candidate is None:
        raise UsageError("nothing to check: give --candidate, or files that were changed")
    baseline = load(options.baseline, options.place) if options.baseline is not None else None
    candidate = load(options.candidate, options.place)
    if baseline is not None:
        pairs_of(baseline.parts, candidate.parts)
    return baseline, candidate


def _with_known(found: Static, baseline: Static | None, file: str | None) -> Static:
    listed = known.load(file) if file is not None else frozenset()
    return Static(
        known.marked_known(found.volatile, listed, baseline.volatile if baseline else ()),
        known.marked_known(found.marks, listed, baseline.marks if baseline else ()),
        found.move,
    )


def _saving(move: Move, recording: Recording, book: PriceBook) -> Decimal | None:
    """What 1,000 calls would save: the tokens that would be read instead of written or computed, at the newest price."""
    dated = [call for call in recording.calls if call.started_at is not None]
    if not dated:
        return None
    latest = max(dated, key=lambda call: (call.started_at, call.id))
    rates = book.find(latest.served_model or latest.model, latest.provider, latest.started_at, latest.tier)
    if not isinstance(rates, Rates):
        return None
    write = rates.write("")
    marked = any(segment.mark for segment in latest.prompt.segments())
    paid = write.rate if marked and write is not None else rates.input
    return usd(1000 * move.tokens * (paid - rates.cache_read))


def _result(
    options: CheckOptions,
    baseline: Source | None,
    candidate: Source,
    static: Static,
    found: Effect | None,
    saves: Decimal | None,
) -> CheckResult:
    rules = rules_of(Evidence(static.volatile, static.marks, found), options.limits)
    return CheckResult(
        schema_version=SCHEMA_VERSION,
        baseline=baseline.spec if baseline is not None else None,
        candidate=candidate.spec,
        verdict="pass" if all(rule.passed for rule in rules) else "fail",
        rules=rules,
        hit_rate=found.hit_rate if found is not None else None,
        one_off_cost=usd(found.one_off_cost) if found is not None else None,
        cost_per_day=found.cost_per_day.rounded() if found is not None else None,
        cost_per_1000_calls=found.cost_per_1000_calls.rounded() if found is not None else None,
        sessions=found.sessions if found is not None else (),
        volatile=static.volatile,
        findings=static.marks,
        move=static.move,
        move_saves_per_1000_calls=saves,
        traffic=found.traffic if found is not None else None,
    )
