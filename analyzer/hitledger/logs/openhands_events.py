"""Conversations of the OpenHands SDK: events (one a file, or lines) and `base_state.json`, which count tokens."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hitledger.logs.fields import count, dollars, first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.providers import provider_of
from hitledger.types import Call, Evidence, Place, Prompt
from hitledger.usage import read_usage

FORMAT = "openhands-events"
MAIN_USAGE = frozenset({"default", "agent"})  # what the SDK calls the usage of the agent itself
COUNTED = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
EVENTS_FOLDER = "/events"


def sniff(file: LogFile) -> bool:
    """An SDK event, or the state of a conversation."""
    head = mapping(opening(file))
    if isinstance(head.get("kind"), str) and head["kind"].endswith("Event"):
        return isinstance(head.get("source"), str) and isinstance(head.get("id"), str) and "timestamp" in head
    return "persistence_dir" in head and isinstance(mapping(head.get("stats")).get("usage_to_metrics"), dict)


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls conversation by conversation; where its state lists each call, the running totals are not used."""
    conversations: dict[str, _Conversation] = {}
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        folder = file.name.rpartition("/")[0].removesuffix(EVENTS_FOLDER) or file.name
        conversation = conversations.setdefault(folder, _Conversation(folder))
        for value in values(file, ledger):
            record = _Record(file.name, value.number, mapping(value.data), ledger)
            if value.cut:
                ledger.count_rows()
                ledger.skip(value.number, "the file ends inside this record")
            elif "usage_to_metrics" in mapping(record.data.get("stats")):
                conversation.states.append(record)
            else:
                ledger.count_rows()
                conversation.events.append(record)
    for conversation in conversations.values():
        yield from conversation.calls()


@dataclass(frozen=True, slots=True)
class _Record:
    file: str
    row: int
    data: Mapping[str, Any]
    ledger: FileLedger


@dataclass(slots=True)
class _Conversation:
    folder: str
    states: list[_Record] = field(default_factory=list)
    events: list[_Record] = field(default_factory=list)
    totals: dict[str, dict[str, int]] = field(default_factory=dict)

    def calls(self) -> Iterator[Call]:
        """From the state's list of usages, else from what the running totals grew by."""
        listed = False
        for state in self.states:
            for call in self._listed(state):
                listed = True
                yield call
        for event in self.events:
            yield from self._event(event, listed)

    def _listed(self, state: _Record) -> Iterator[Call]:
        row = 0
        for name, metrics in mapping(mapping(state.data.get("stats")).get("usage_to_metrics")).items():
            costs = [dollars(mapping(cost).get("cost")) for cost in items(mapping(metrics).get("costs"))]
            usages = items(mapping(metrics).get("token_usages"))
            for position, logged in enumerate(map(mapping, usages)):
                row += 1
                state.ledger.count_rows()
                state.ledger.call()
                cost = costs[position] if len(costs) == len(usages) else None
                yield self._call(state.file, row, name, logged, None, cost, ())
        if not row:
            state.ledger.count_rows()
            state.ledger.known("state without calls")

    def _event(self, event: _Record, listed: bool) -> Iterator[Call]:
        kind = first_text(event.data.get("kind"))
        if not kind:
            event.ledger.skip(event.row, "an event without a kind")
            return
        grown = list(self._grown(event)) if event.data.get("key") == "stats" and not listed else []
        if not grown:
            event.ledger.known(kind)
            return
        event.ledger.call()
        event.ledger.count_rows(len(grown) - 1)  # one event can report the growth of several usages
        for call in grown[1:]:
            event.ledger.call()
            event.ledger.note(f"a second call in one event: {call.agent[:40]}")
        yield from grown

    def _grown(self, event: _Record) -> Iterator[Call]:
        for name, metrics in mapping(mapping(event.data.get("value")).get("usage_to_metrics")).items():
            total = mapping(mapping(metrics).get("accumulated_token_usage"))
            now = {key: count(total.get(key)) or 0 for key in COUNTED}
            before = self.totals.get(name, dict.fromkeys(COUNTED, 0))
            logged = {key: now[key] - before[key] for key in COUNTED}
            self.totals[name] = now
            if logged["prompt_tokens"] <= 0 or min(logged.values()) < 0:
                continue
            last = count(total.get("per_turn_token"))
            one = last == logged["prompt_tokens"] + logged["completion_tokens"]
            notes = ("usage_from_totals",) if one else ("usage_from_totals", "several_calls_in_one")
            named = {**logged, "model": first_text(total.get("model"), mapping(metrics).get("model_name"))}
            yield self._call(event.file, event.row, name, named, event.data.get("timestamp"), None, notes)

    def _call(
        self, file: str, row: int, name: str, logged: Mapping[str, Any], ended: Any, cost: Any, notes: tuple[str, ...]
    ) -> Call:
        usage, found = read_usage({key: logged.get(key) for key in COUNTED}, inclusive=True)
        model = text(logged.get("model"))
        agent = "main" if name in MAIN_USAGE else name
        return Call(
            id=first_text(logged.get("response_id"), f"{self.folder}:{name}:{row}"),
            session=self.folder,
            agent=agent,
            place=Place(file, row),
            provider=provider_of(model.removeprefix("litellm_proxy/")),
            model=model,
            evidence=Evidence.USAGE_ONLY,
            prompt=Prompt(()),
            started_at=instant(ended),
            ended_at=instant(ended),
            usage=usage,
            logged_cost=cost,
            purpose="compaction" if name == "condenser" else "",
            parent_agent="" if agent == "main" else "main",
            notes=("start_estimated", *found, *notes) if ended else (*found, *notes),
        )
