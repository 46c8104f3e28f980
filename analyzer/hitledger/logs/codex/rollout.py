"""One rollout file, row by row."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from hitledger.logs.codex.history import History, wrote_it
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import UNEXPECTED, FileLedger
from hitledger.logs.instants import instant
from hitledger.parameters import parameters_of
from hitledger.providers import provider_of
from hitledger.segments import Api
from hitledger.types import Call, Evidence, Parameter, Place, Prompt
from hitledger.usage import read_usage

MAIN = "main"
# Output holds the reasoning, input the cached part; some writers' totals add the reasoning twice, so it is left out.
FIGURES = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
MAX_KIND = 40  # characters of a row type that are shown
TOTALS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")

Totals = tuple[Any, ...]
Counted = dict[str, set[Totals]]  # session -> totals of the calls counted for it


class Rollout:
    """The state of one file while it is read. `counted` holds the calls of all files so far."""

    def __init__(self, file: LogFile, ledger: FileLedger, counted: Counted) -> None:
        self.file = file
        self.ledger = ledger
        self.counted = counted
        self.history = History()
        self.id = ""
        self.session = ""
        self.ancestors: list[str] = []
        self.parent = ""
        self.purpose = ""
        self.project = ""
        self.model = ""
        self.host = ""
        self.totals: Totals = ()
        self.sent: Any = None  # timestamp of the last row that a request follows
        self.events: list[str] = []
        self.parameters: tuple[Parameter, ...] = ()
        self.context_items: set[bytes] = set()

    def calls(self) -> Iterator[Call]:
        """The calls of the file, in order."""
        for number, row in self.file.rows(self.ledger):
            try:
                call = self._take(number, row)
            except UNEXPECTED as error:
                self.ledger.skip_unexpected(number, error)
                continue
            if call is not None:
                for note in call.notes:
                    self.ledger.note(note)
                yield call

    def _take(self, number: int, row: Any) -> Call | None:
        kind, payload = row.get("type"), row.get("payload")
        name = str(kind)[:MAX_KIND] if kind else "no type"
        payload = payload if isinstance(payload, dict) else {}
        stamp = row.get("timestamp")
        if kind == "event_msg":
            name = f"{name}/{str(payload.get('type'))[:MAX_KIND]}"
            if payload.get("type") == "token_count":
                return self._token_count(number, payload, stamp)
            self._event(payload, stamp)
        elif kind == "response_item":
            self._item(number, payload, stamp)
        elif kind == "turn_context":
            self._context(payload, stamp)
        elif kind == "session_meta":
            self._meta(number, payload)
        elif kind == "compacted":
            self._compacted(number, payload)
        self.ledger.known(name)
        return None

    def _meta(self, number: int, payload: Mapping[str, Any]) -> None:
        """The session's own head first; in a fork those of its ancestors follow, with their history."""
        identifier = str(payload.get("id") or payload.get("session_id") or "")
        if self.id:
            if identifier == self.id:
                self._event_of("resume")
            elif identifier not in self.ancestors:
                self.ancestors.append(identifier)
            return
        self.id = identifier
        self.ancestors = [str(payload[key]) for key in ("forked_from_id", "parent_thread_id") if payload.get(key)]
        parent = payload.get("parent_thread_id")
        self.session = str(payload.get("session_id") or parent or identifier)
        self.parent = MAIN if parent and identifier != self.session else ""
        source = payload.get("source")
        spawned = source.get("subagent") if isinstance(source, dict) else None
        self.purpose = spawned if isinstance(spawned, str) else ""  # review, compact, …
        self.host = str(payload.get("model_provider") or "")
        self._in_folder(payload)
        base = payload.get("base_instructions")
        text = base.get("text") if isinstance(base, dict) else base
        if isinstance(text, str) and text:
            self.history.instruct(text, f"[{number - 1}].payload.base_instructions.text")

    def _context(self, payload: Mapping[str, Any], stamp: Any) -> None:
        """What the next request is sent with."""
        self.model = str(payload.get("model") or self.model)
        self._in_folder(payload)
        body = {"reasoning": {"effort": payload.get("effort")}, "service_tier": payload.get("service_tier")}
        self.parameters = parameters_of(body)
        self.sent = stamp

    def _in_folder(self, payload: Mapping[str, Any]) -> None:
        folder = payload.get("cwd")
        if isinstance(folder, str) and folder:
            self.project = PurePath(folder.replace("\\", "/")).name

    def _event(self, payload: Mapping[str, Any], stamp: Any) -> None:
        kind = payload.get("type")
        if kind == "user_message":
            self._event_of("user_turn")
            self.history.begin_turn()
            self.sent = stamp
        elif kind == "thread_rolled_back":
            self._event_of("rewind")
            self.history.roll_back(int(payload["num_turns"]))

    def _item(self, number: int, payload: Mapping[str, Any], stamp: Any) -> None:
        path = f"[{number - 1}].payload"
        if wrote_it(payload):
            self.history.add(payload, path)
            return
        if payload.get("role") == "user":
            self.history.begin_turn()
        self.history.add(payload, path)
        self.sent = stamp
        if payload.get("role") == "developer":  # the first context is sent once more when a session is taken up again
            digest = self.history.waiting[-1].digest
            if digest in self.context_items:
                self._event_of("resume")
            self.context_items.add(digest)

    def _compacted(self, number: int, payload: Mapping[str, Any]) -> None:
        """The history is replaced: by the items that the row holds, in old versions by its message alone."""
        items = payload.get("replacement_history")
        if isinstance(items, list):
            self.history.replace(items, f"[{number - 1}].payload.replacement_history")
        else:
            summary = {"type": "message", "role": "user", "content": payload.get("message")}
            self.history.replace([summary], f"[{number - 1}].payload")
        self._event_of("compaction")
        self.context_items.clear()

    def _event_of(self, name: str) -> None:
        if name not in self.events:
            self.events.append(name)

    def _token_count(self, number: int, payload: Mapping[str, Any], stamp: Any) -> Call | None:
        """A call where the totals have changed since the last one."""
        info = payload.get("info")
        if not isinstance(info, dict):
            self.ledger.known("token_count without figures")
            return None
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        totals = tuple(total.get(key) for key in TOTALS) if isinstance(total, dict) else ()
        if totals == self.totals or not isinstance(last, dict):
            self.ledger.known("same totals")
            return None
        self.totals = totals
        if any(totals in self.counted.get(ancestor, ()) for ancestor in self.ancestors):
            self.ledger.known("copied call")
            self.history.request()
            self.events = ["resume"]  # for the first call that is no copy
            return None
        call = self._call(number, info, last, stamp)
        for session in (self.id, *self.ancestors):
            self.counted.setdefault(session, set()).add(totals)
        self.ledger.call()
        return call

    def _call(self, number: int, info: Mapping[str, Any], last: Mapping[str, Any], stamp: Any) -> Call:
        prompt = self.history.request()
        holds_items = prompt.base is not None and len(prompt) > len(self.history.head)
        usage, notes = read_usage({key: last[key] for key in FIGURES if key in last}, inclusive=True)
        if usage is None or not usage.input_tokens:  # no prompt is empty: zeros are a count that was never made
            usage, notes = None, (*notes, "no_usage")
        started, ended = instant(self.sent), instant(stamp)
        call = Call(
            id=f"{self.id or PurePath(self.file.name).stem}/{number}",
            session=self.session or PurePath(self.file.name).stem,
            agent=self.id if self.parent else MAIN,
            place=Place(self.file.name, number),
            provider=provider_of(self.model, self.host),
            model=str(info.get("model") or self.model),
            evidence=Evidence.RECONSTRUCTED if holds_items else Evidence.USAGE_ONLY,
            prompt=prompt if holds_items else Prompt(()),
            api=Api.RESPONSES,
            started_at=started or ended,
            ended_at=ended,
            usage=usage,
            parameters=self.parameters,
            events=tuple(self.events),
            purpose=self.purpose,
            parent_agent=self.parent,
            project=self.project,
            notes=(*notes, "start_estimated"),
        )
        self.events = []
        self.sent = None
        return call
