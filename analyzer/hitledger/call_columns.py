"""How each figure of a call's row is made: a column at a time, over all calls that are asked for."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any

from hitledger.attribution import attribution_of, ideal_of
from hitledger.billing import Cost, computed_cost, is_exact
from hitledger.call_segments import Listed
from hitledger.chains import Link, gap_seconds
from hitledger.columns import taken
from hitledger.expect import Expectation, lifetime_of
from hitledger.money import CallMoney
from hitledger.positions import inside_a_prompt
from hitledger.redact import redact
from hitledger.results import WARMED
from hitledger.types import CacheWrite, Call, Certainty, Evidence, Usage
from hitledger.verdicts import Verdict

EXACT = Evidence.EXACT  # attributes of an enumeration are found slowly


class Judged:
    """What an audit knows of some calls: one entry a call in each of the sequences."""

    __slots__ = ("_columns", "calls", "costs", "expectations", "links", "listed", "money", "run", "usages", "verdicts")

    def __init__(
        self,
        run: Sequence[Call],
        links: Sequence[Link],
        expectations: Sequence[Expectation | None],
        verdicts: Sequence[Verdict],
        money: Sequence[CallMoney],
        listed: Sequence[Listed] | None = None,
    ) -> None:
        """`run`: all calls, to which links and sources lead. `listed` None: no segments are listed."""
        self.run = run
        self.links = links
        self.expectations = expectations
        self.verdicts = verdicts
        self.money = money
        self.listed = listed
        self.calls: Sequence[Call] = [link.call for link in links]
        self.usages: Sequence[Usage | None] = [call.usage for call in self.calls]
        self.costs: Sequence[Cost | None] = [one.cost for one in money]
        self._columns: dict[str, Sequence[Any]] = {}

    def column(self, name: str) -> Sequence[Any]:
        """A field of the calls' rows, made once."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = COLUMNS[name](self)
        return found

    def part(self, indices: Sequence[int]) -> "Judged":
        """Some of the calls, by ascending indices. Columns that are made already are taken from here."""
        found = Judged(
            self.run,
            taken(self.links, indices),
            taken(self.expectations, indices),
            taken(self.verdicts, indices),
            taken(self.money, indices),
            taken(self.listed, indices) if self.listed is not None else None,
        )
        found._columns = {name: taken(column, indices) for name, column in self._columns.items()}
        return found


Column = Callable[[Judged], Sequence[Any]]


def _of_call(path: str) -> Column:
    getter = attrgetter(path)
    return lambda judged: list(map(getter, judged.calls))


def _of_known(what: str, path: str) -> Column:
    """A figure of what is known of a call; None where nothing is."""
    column, getter = attrgetter(what), attrgetter(path)
    return lambda judged: [getter(one) if one is not None else None for one in column(judged)]


def _predecessors(judged: Judged) -> list[str | None]:
    run = judged.run
    return [run[link.predecessor].id if link.predecessor is not None else None for link in judged.links]


def _sources(judged: Judged) -> list[str | None]:
    run, sources = judged.run, _of_known("expectations", "forecast.source")(judged)
    return [run[source].id if source is not None else None for source in sources]


def _shared_segments(judged: Judged) -> list[int]:
    if judged.listed is None:
        return [0] * len(judged.calls)
    return [0 if call.evidence is EXACT else one.shared for call, one in zip(judged.calls, judged.listed, strict=True)]


def _of_listed(name: str, unlisted: object) -> Column:
    getter = attrgetter(name)
    return lambda judged: [unlisted] * len(judged.calls) if judged.listed is None else list(map(getter, judged.listed))


_reads_by_rule = _of_known("expectations", "forecast.read")


def _ideal_reads(judged: Judged) -> list[int | None]:
    known = zip(judged.column("input_tokens"), judged.verdicts, _reads_by_rule(judged), strict=True)
    return [ideal_of(total, verdict.readable_before, by_rule) for total, verdict, by_rule in known]


def _expected_reads(judged: Judged) -> list[int | None]:
    """What the rule lets a call read, and no more than its prompt has."""
    known = zip(judged.column("input_tokens"), _reads_by_rule(judged), strict=True)
    return [by_rule if total is None or by_rule is None or by_rule < total else total for total, by_rule in known]


def _expected_ranges(judged: Judged) -> list[tuple[int, int] | None]:
    known = zip(judged.column("expected_cache_read_tokens"), judged.expectations, strict=True)
    return [
        (0, expected) if expected and expectation is not None and expectation.rule.best_effort else None
        for expected, expectation in known
    ]


def _costs_without_cache(judged: Judged) -> list[Decimal | None]:
    """Every input token at the input rate; the answer as it was billed."""
    found: list[Decimal | None] = []
    for usage, money in zip(judged.usages, judged.money, strict=True):
        rates = money.rates
        if usage is None or rates is None or rates.output is None or money.cost is None:
            found.append(None)
        else:
            found.append(usage.input_tokens * rates.input + (usage.output_tokens or 0) * rates.output)
    return found


def _notes(judged: Judged) -> list[tuple[str, ...]]:
    """The log's own notes, and what a rule lacks to judge the call or a reader has to know of its expected read."""
    return [
        call.notes
        if known is not None and not known.warmed and call.provider and call.model and call.started_at
        else _flagged(call, known)
        for call, known in zip(judged.calls, judged.expectations, strict=True)
    ]


def _flagged(call: Call, expectation: Expectation | None) -> tuple[str, ...]:
    flags = (
        ("provider_unknown", not call.provider and call.engine is None),
        ("model_unknown", not call.model),
        ("time_unknown", call.started_at is None),
        ("no_rule", expectation is None and bool(call.provider) and bool(len(call.prompt)) and call.status < 400),
        (WARMED, expectation is not None and expectation.warmed),
    )
    return (*call.notes, *(name for name, is_so in flags if is_so))


def _lifetimes(judged: Judged) -> list[str | None]:
    """The lifetime in force: what was written, else what is marked, else the rule's default."""
    return [_lifetime(*known) for known in zip(judged.calls, judged.expectations, strict=True)]


def _lifetime(call: Call, expectation: Expectation | None) -> str | None:
    written = lifetime_of(call)
    if written is not None or expectation is None:
        return written
    marks = expectation.view.marks
    return (marks[-1].ttl if marks else expectation.rule.default_lifetime) or None


def _writes(writes: tuple[CacheWrite, ...] | None) -> dict[str, int] | None:
    return None if writes is None else {write.ttl: write.tokens for write in writes if write.tokens}


def _certainty(call: Call, expectation: Expectation | None, money: CallMoney) -> dict[str, Certainty]:
    usage, cost = call.usage, money.cost
    return _certainties(
        usage is not None,
        call.evidence is EXACT,
        expectation is not None,
        expectation is not None and expectation.forecast.exact,
        cost is not None and not is_exact(cost, usage),
        usage is not None and usage.output_estimated,
    )


@cache
def _certainties(
    logged: bool, whole: bool, by_rule: bool, read_exact: bool, cost_estimated: bool, output_estimated: bool
) -> dict[str, Certainty]:
    """One value for all calls that are alike."""
    inside = inside_a_prompt(logged)
    found: dict[str, Certainty] = {}
    if by_rule and not read_exact:
        found["expected_cache_read_tokens"] = inside
    if by_rule:
        found["expected_cache_write_tokens"] = inside
        found["common_prefix_tokens"] = inside
    found["segments"] = inside if whole else Certainty.ESTIMATED
    if cost_estimated:
        found["cost"] = Certainty.ESTIMATED
    if output_estimated:
        found["output_tokens"] = Certainty.ESTIMATED
    return found


# How each field of a CallResult is made.
COLUMNS: Mapping[str, Column] = {
    **{
        name: _of_call(name)
        for name in (
            *("id", "session", "agent", "parent_agent", "project", "started_at", "provider", "model", "served_model"),
            *("tier", "evidence", "status", "purpose", "events", "logged_cost"),
        )
    },
    **{
        name: _of_known("usages", name)
        for name in (
            "uncached_input_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "input_tokens",
            "output_tokens",
        )
    },
    "file": _of_call("place.file"),
    "row": _of_call("place.row"),
    "index": lambda judged: [link.index for link in judged.links],
    "index_in_session": lambda judged: [link.index_in_session for link in judged.links],
    "predecessor": _predecessors,
    "compared_with": _sources,
    "gap_seconds": lambda judged: [gap_seconds(link, judged.run) for link in judged.links],
    "ttl": _lifetimes,
    "shared_segments": _shared_segments,
    "segments": _of_listed("segments", ()),
    "common_prefix_tokens": _of_listed("common_tokens", None),
    "cache_writes": lambda judged: [_writes(one.cache_writes) if one is not None else None for one in judged.usages],
    "ideal_cache_read_tokens": _ideal_reads,
    "expected_cache_read_tokens": _expected_reads,
    "expected_cache_read_range": _expected_ranges,
    "expected_cache_write_tokens": _of_known("expectations", "forecast.written"),
    "attribution": lambda judged: [
        attribution_of(*known)
        for known in zip(judged.column("ideal_cache_read_tokens"), judged.verdicts, judged.expectations, strict=True)
    ],
    "cost": _of_known("costs", "total"),
    "cost_without_cache": _costs_without_cache,
    "cost_source": _of_known("costs", "source"),
    "provider_reason": lambda judged: [
        redact(call.provider_reason) if call.provider_reason else None for call in judged.calls
    ],
    "certainty": lambda judged: [
        _certainty(*known) for known in zip(judged.calls, judged.expectations, judged.money, strict=True)
    ],
    "notes": _notes,
    "computed_cost": lambda judged: [
        computed_cost(call, one.rates) if call.logged_cost is not None else None
        for call, one in zip(judged.calls, judged.money, strict=True)
    ],
}
