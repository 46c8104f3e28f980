"""One transcript file, row by row: which agent a row belongs to and what it means for the calls."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from hitledger.logs.claude_code.blocks import tally_of
from hitledger.logs.claude_code.chain import Chain, Complete
from hitledger.logs.claude_code.deferred import Rows
from hitledger.logs.claude_code.request import Request
from hitledger.logs.claude_code.row import Entry, Message, Row, ToolResult, rows_of
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import UNEXPECTED, FileLedger
from hitledger.types import Call, Evidence, Prompt

MAIN = "main"
SYNTHETIC = "<synthetic>"
CLEAR_COMMAND = "<command-name>/clear</command-name>"
RESUME_HOOK = "SessionStart:resume"
# What the program keeps for itself; it sends the other attachments as reminders in words that the log does not have.
UNSENT_ATTACHMENTS = frozenset({"command_permissions", "hook_cancelled", "hook_non_blocking_error", "hook_success"})
CALLS_AT_ONCE = 16
MAX_KIND = 40  # characters of a row type that are shown
NEW_CALL, SAME_CALL, COPIED_CALL = "", "same call", "copied call"  # no type of rows is called like the first
SKIPPED = " " * (MAX_KIND + 1)  # longer than any that is shown
RECONSTRUCTED = Evidence.RECONSTRUCTED  # an attribute of an enumeration is found slowly
NO_MESSAGE = "a message that is no object"


class Transcript:
    """The state of one file while it is read. `counted` holds the calls of all files so far,
    `started_by` which agent started which, as far as the rows read say so."""

    def __init__(self, file: LogFile, ledger: FileLedger, counted: set[str], started_by: dict[str, str]) -> None:
        self.file = file
        self.ledger = ledger
        self.counted = counted
        self.started_by = started_by
        self.held = Rows(file.path if file.is_plain() else None, file.name)
        self.agent_of_row: dict[str, str] = {}  # rows of agents inside the main file, which only the tree tells apart
        self.made: dict[str, Call | None] = {}  # by id, in the order of their first rows
        self.copies: set[str] = set()  # ids of calls that another file has
        self.complete: list[Complete] = []  # their calls are still to be made
        self.main = Chain(MAIN, "", self.held, self.complete)
        self.chains = {MAIN: self.main}
        self.kinds: Counter[str] = Counter()  # what rows count for; the ledger gets it when all are read

    def calls(self) -> Iterator[Call]:
        """The calls of the file in the order of their first rows."""
        kinds = self.kinds
        kinds.update(map(self._take, self.file.decoded(self.ledger, rows_of)))
        for chain in self.chains.values():
            chain.close()
        self._make_calls()
        self.ledger.calls += kinds.pop(NEW_CALL, 0)
        del kinds[SKIPPED]
        for kind, count in kinds.items():
            self.ledger.known(kind, count)
        noted: defaultdict[tuple[str, ...], int] = defaultdict(int)
        for call in self.made.values():
            if call is not None:
                noted[call.notes] += 1
        for notes, count in noted.items():
            for note in notes:
                self.ledger.note(note, count)
        yield from filter(None, self.made.values())

    def _take(self, entry: Entry) -> str:
        """What a row counts for, once it is taken in."""
        row = entry[1]
        try:
            kind = row.type
            if kind == "assistant":
                return self._assistant(entry, row)
            return self._user(entry, row) if kind == "user" else self._other(entry, row)
        except UNEXPECTED as error:
            self.ledger.skip_unexpected(entry[0], error)
            return SKIPPED

    def _make_calls(self) -> None:
        """The calls of some requests, one after the other: faster than each between rows, and no row is held for long."""
        for request, settings in self.complete:
            try:
                self.made[request.id] = request.close(settings)
            except UNEXPECTED as error:
                self.kinds[NEW_CALL] -= 1
                self.ledger.skip_unexpected(request.first[0], error)
        self.complete.clear()

    def _agent(self, row: Row[Any]) -> Chain:
        """The chain of a row that is not the main agent's."""
        name = self._inline_agent(row) if row.agentId is None else row.agentId
        chain = self.chains.get(name)
        if chain is None:
            chain = self.chains[name] = Chain(str(name), MAIN, self.held, self.complete)
        return chain

    def _inline_agent(self, row: Row[Any]) -> str:
        """Old versions wrote the rows of agents into the main file; each tree of such rows is an agent."""
        uuid = row.uuid or None
        name = self.agent_of_row.get(row.parentUuid or "") or f"sidechain-{str(uuid)[:8]}"
        if isinstance(uuid, str):
            self.agent_of_row[uuid] = name
        return name

    def _assistant(self, entry: Entry, row: Row[Any]) -> str:
        """A row of an answer. Returns what it counts for."""
        message, uuid = row.message, row.uuid
        if message is None:
            raise AttributeError(NO_MESSAGE)
        chain = self.main if row.agentId is None and not row.isSidechain else self._agent(row)
        places, request = chain.places, chain.current
        again = uuid in places  # a row that was written once more
        if request is None or message.id != request.message or row.requestId != request.request:
            kind = self._first(chain, entry, row, message)
            request = chain.current
            if request is None or request.first is not entry:
                return kind
        else:
            kind = COPIED_CALL if request.copied else SAME_CALL
            if again:
                return kind
        if uuid:
            places[uuid] = chain.place
            chain.last = uuid
        request.rows.append(entry)
        return kind

    def _first(self, chain: Chain, entry: Entry, row: Row[Any], message: Message[Any]) -> str:
        """The first row of an answer: from here on the prompt of its request stands. Returns what the row counts for."""
        if message.model == SYNTHETIC or row.isApiErrorMessage:
            chain.pass_on(row.uuid, row.parentUuid)
            return "api error"
        key = f"{message.id or row.uuid or entry[0]}/{row.requestId or ''}"
        if key in self.made:  # written once more, or after the next request
            return COPIED_CALL if key in self.copies else SAME_CALL
        if row.version != chain.version:
            self._note_restart(chain, row.version)
        if row.parentUuid != chain.last:
            chain.stand_at(row.parentUuid)
        request = chain.current = self._request(chain, key, entry, row, message)
        self.made[key] = None
        if len(self.complete) >= CALLS_AT_ONCE:
            self._make_calls()
        if key in self.counted:
            request.copied = True
            self.copies.add(key)
            chain.events = ["resume"]  # for the first call that is no copy
            return COPIED_CALL
        chain.events = []
        self.counted.add(key)
        return NEW_CALL

    def _request(self, chain: Chain, key: str, entry: Entry, row: Row[Any], message: Message[Any]) -> Request:
        parent = "" if chain is self.main else self.started_by.get(chain.name, MAIN)
        started, events = chain.stamp or row.timestamp, tuple(chain.events)
        prompt, evidence = chain.request(), RECONSTRUCTED
        if message.content is UNSET:
            prompt, evidence = Prompt(()), Evidence.USAGE_ONLY
        return Request(key, entry, message.id, row.requestId, prompt, evidence, started, parent, events, [])

    def _user(self, entry: Entry, row: Row[Any]) -> str:
        """A message to the model: something a person said, or the results of tools. Returns the kind of row."""
        message = row.message
        if message is None:
            raise AttributeError(NO_MESSAGE)
        chain = self.main if row.agentId is None and not row.isSidechain else self._agent(row)
        if row.uuid in chain.places:
            return "same row"
        content, stepped_back = message.content, row.parentUuid != chain.last and chain.stand_at(row.parentUuid)
        if type(content) is list and content and content[0].type == "tool_result":
            result = row.toolUseResult
            if type(result) is ToolResult and result.agentId is not None:
                self.started_by[str(result.agentId)] = chain.name
            if len(content) == 1:  # most by far
                chain.take(entry, 1, 0)
                return "user"
        elif not row.isCompactSummary:
            self._said(chain, content, row, stepped_back)
        chain.take(entry, *tally_of((entry,)))
        return "user"

    def _said(self, chain: Chain, content: Any, row: Row[Any], stepped_back: bool) -> None:
        """Events of a message that is no tool result."""
        if row.version != chain.version:
            self._note_restart(chain, row.version)
        cleared = isinstance(content, str) and content.startswith(CLEAR_COMMAND)
        if row.parentUuid is None and chain.begun:  # a new first message: nothing before it is sent
            chain.restart()
            stepped_back = not cleared
        if stepped_back:
            chain.event("rewind")
        if cleared:
            chain.event("clear")
        elif not row.isMeta:
            chain.event("user_turn")

    def _note_restart(self, chain: Chain, version: Any) -> None:
        """A session that goes on under another version of the program was resumed."""
        if chain.version is not None and version is not None:
            chain.event("resume")
        chain.version = version

    def _other(self, entry: Entry, row: Row[Any]) -> str:
        """A row that is no message. Returns its kind."""
        kind = row.type
        if kind is None and row.message is not None:
            return self._assistant(entry, row)
        name = str(kind)[:MAX_KIND] if kind else "no type"
        if row.uuid is UNSET:
            return name
        chain = self.main if row.agentId is None and not row.isSidechain else self._agent(row)
        if kind == "system":
            return f"{name}/{self._system(chain, row)}"
        detail = row.data if kind == "progress" else row.attachment
        if not isinstance(detail, dict):
            if kind == "attachment":
                raise TypeError("an attachment that is no object")
            detail = {}
        if detail.get("hookName") == RESUME_HOOK:
            chain.event("resume")
        if kind == "attachment" and detail.get("type") not in UNSENT_ATTACHMENTS:
            chain.stand_at(row.parentUuid)
            chain.take(entry, 1, 0)
        else:
            chain.pass_on(row.uuid, row.parentUuid)
        return name

    def _system(self, chain: Chain, row: Row[Any]) -> str:
        """What the program notes of itself; two kinds say that the prompt changed. Returns the kind."""
        kind = str(row.subtype)[:MAX_KIND]
        if kind == "compact_boundary":
            chain.restart()
            chain.event("compaction")
            chain.put(row.uuid)
            chain.keep(_kept_rows(row.compactMetadata))
            return kind
        if kind == "microcompact_boundary":
            if row.microcompactMetadata is None:
                raise KeyError("microcompactMetadata")
            chain.clear_results(frozenset(map(str, row.microcompactMetadata["compactedToolIds"])))
        chain.pass_on(row.uuid, row.parentUuid)
        return kind


def _kept_rows(metadata: Any) -> list[Any]:
    """Rows that a compaction carried over as they were: their uuids, the last one at least."""
    metadata = metadata if isinstance(metadata, dict) else {}
    segment, messages = metadata.get("preservedSegment"), metadata.get("preservedMessages")
    found = [segment.get("headUuid"), segment.get("tailUuid")] if isinstance(segment, dict) else []
    if isinstance(messages, dict):
        found += messages.get("allUuids") or messages.get("uuids") or []
    return found
