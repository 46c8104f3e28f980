"""LangSmith: batches of `{post, patch}`, and lists or lines of runs. The parts of one run are merged by its id."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.fields import items
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.records import numbered
from hitledger.logs.spans import langsmith
from hitledger.logs.spans.reading import LAST, State, call_of
from hitledger.logs.spans.span import Role
from hitledger.logs.values import opening, values
from hitledger.types import Call, Place

FORMAT = "langsmith"
LIST_KEYS = ("post", "patch", "runs")

Run = Mapping[str, Any]


def sniff(file: LogFile) -> bool:
    """Whether its first value is a batch of runs, a list of them, or a run."""
    value = opening(file)
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, Mapping):
        return False
    inner = next((record for key in LIST_KEYS for record in items(first.get(key))), first)
    return (
        isinstance(inner, Mapping)
        and ("run_type" in inner or "dotted_order" in inner)
        and bool(langsmith.run_id(inner))
    )


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """All calls, file by file in the order of their start; a run whose parts lie in two files counts in the first."""
    state, parts, merged = State(), Counter[str](), dict[str, dict[str, Any]]()
    for file in files:
        for value in values(file, FileLedger(file.name, FORMAT)):
            for run in _runs(value.data):
                if isinstance(run, Mapping) and (run_id := langsmith.run_id(run)):
                    parts[run_id] += 1
                    _merge(merged.setdefault(run_id, {}), run)
    for run_ in merged.values():
        state.take_in(langsmith.span_of(run_), langsmith)
    state.tree.settle()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        yield from sorted(_calls(file, ledger, merged, state), key=lambda call: call.started_at or LAST)


def _runs(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping) and any(isinstance(value.get(key), list) for key in LIST_KEYS):
        return [run for key in LIST_KEYS for run in items(value.get(key))]
    return [value]


def _merge(whole: dict[str, Any], part: Run) -> None:
    """What a later part says wins, except by saying nothing; `outputs: {}` of a post says nothing."""
    whole |= {key: value for key, value in part.items() if value not in (None, {}, []) or key not in whole}


def _calls(file: LogFile, ledger: FileLedger, merged: dict[str, dict[str, Any]], state: State) -> Iterator[Call]:
    for value in values(file, ledger):
        for row, run in numbered(_runs(value.data), value.cut, ledger, "run"):
            run_id = langsmith.run_id(run) if isinstance(run, Mapping) else ""
            if not run_id:
                ledger.skip(row, "no run: it has no id")
            else:
                yield from _call(merged[run_id], Place(file.name, row), ledger, state)


def _call(run: Run, place: Place, ledger: FileLedger, state: State) -> Iterator[Call]:
    span = langsmith.span_of(run)
    role = state.tree.role(span.key)
    if role is not Role.CALL:
        ledger.known(role.value)
    elif span.key in state.seen:
        ledger.known("same call")
    else:
        state.seen.add(span.key)
        ledger.call()
        yield call_of(span, langsmith, place, ledger, state)
