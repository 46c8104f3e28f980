"""One transcript file, row by row: which agent a row belongs to and what it means for the calls."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from hitledger.logs.claude_code.blocks import count_of, thinking_of
from hitledger.logs.claude_code.chain import Chain
from hitledger.logs.claude_code.deferred import Part, Rows, segments_of_row
from hitledger.logs.claude_code.request import Request, miss_reason
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger
from hitledger.types import Call, Evidence, Prompt

MAIN = "main"
SYNTHETIC = "<synthetic>"
CLEAR_COMMAND = "<command-name>/clear</command-name>"
RESUME_HOOK = "SessionStart:resume"
# What the program keeps for itself; it sends the other attachments as reminders in words that the log does not have.
UNSENT_ATTACHMENTS = frozenset({"command_permissions", "hook_cancelled", "hook_non_blocking_error", "hook_success"})
MAX_KIND = 40  # characters of a row type that are shown
SAME_CALL, COPIED_CALL = "same call", "copied call"
# What wrong types in a hostile or foreign row raise; the row is skipped and the rest of the file is read.
UNEXPECTED = (AttributeError, KeyError, TypeError, ValueError, RecursionError)


class Transcript:
    """The state of one file while it is read. `counted` holds the calls of all files so far,
    `started_by` which agent started which, as far as the rows read say so."""

    def __init__(self, file: LogFile, ledger: FileLedger, counted: set[str], started_by: dict[str, str]) -> None:
        self.file = file
        self.ledger = ledger
        self.counted = counted
        self.started_by = started_by
        self.reread = Rows(file.path, file.name) if file.path is not None and file.is_plain() else None
        self.chains: dict[str, Chain] = {}
        self.agent_of_row: dict[str, str] = {}  # rows of agents inside the main file, which only the tree tells apart
        self.requests: dict[str, Request] = {}
        self.kinds: Counter[str] = Counter()  # rows that are no call; they reach the ledger when all rows are read

    def calls(self) -> Iterator[Call]:
        """The calls of the file in the order of their first rows."""
        for number, row, size in self.file.rows(self.ledger):
            try:
                self._take(number, row, size)
            except UNEXPECTED as error:
                self.ledger.skip(number, f"unexpected content: {type(error).__name__}: {error}"[:200])
        for kind, count in self.kinds.items():
            self.ledger.known(kind, count)
        for chain in self.chains.values():
            if chain.current is not None:
                chain.current.close()
        for request in self.requests.values():
            if not request.copied:
                call = request.call(self.file.name)
                for note in call.notes:
                    self.ledger.note(note)
                yield call

    def _take(self, number: int, row: Any, size: int) -> None:
        kind = row.get("type")
        if kind == "assistant" or (kind is None and "message" in row):
            self._assistant(number, row, size)
        elif kind == "user":
            self.kinds[self._user(number, row, size)] += 1
        else:
            self.kinds[self._other(number, row, kind, size)] += 1

    def _parts(self, number: int, row: Any, size: int, opens: bool, count: int, thinking: int) -> Sequence[Part]:
        """What the row puts into the prompt, as a place in the file where that can be read again."""
        if self.reread is None:
            return segments_of_row(row, number, opens)
        return ((number, self.ledger.bytes_read - size, size, opens, count, thinking),)

    def _chain(self, row: Mapping[str, Any]) -> Chain:
        name = row.get("agentId")
        if name is None:
            name = self._inline_agent(row) if row.get("isSidechain") else MAIN
        chain = self.chains.get(name)
        if chain is None:
            chain = self.chains[name] = Chain(str(name), "" if name == MAIN else MAIN, self.reread)
        return chain

    def _inline_agent(self, row: Mapping[str, Any]) -> str:
        """Old versions wrote the rows of agents into the main file; each tree of such rows is an agent."""
        uuid, parent = row.get("uuid"), row.get("parentUuid")
        name = self.agent_of_row.get(parent or "") or f"sidechain-{str(uuid)[:8]}"
        if isinstance(uuid, str):
            self.agent_of_row[uuid] = name
        return name

    def _assistant(self, number: int, row: Mapping[str, Any], size: int) -> None:
        message, uuid = row["message"], row.get("uuid")
        chain = self._chain(row)
        again = uuid in chain.places  # a row that was written once more
        request = chain.current
        opens = request is None or message.get("id") != request.message or row.get("requestId") != request.request
        if opens:
            request = self._first(chain, number, row, message)
            if request is None:
                return
        else:
            assert request is not None
            self.kinds[COPIED_CALL if request.copied else SAME_CALL] += 1
            if again:
                return
        content = message.get("content")
        count, thinking = count_of(content), thinking_of(content)
        chain.hear(self._parts(number, row, size, opens, count, thinking), count, thinking, uuid)
        request.ended = row.get("timestamp")
        request.contents.append(content)
        usage = message.get("usage")
        if type(usage) is dict:
            output = usage.get("output_tokens")
            if type(output) is not int:
                output = 0
            if output >= request.output:
                request.usage, request.output = usage, output
        if "diagnostics" in message:
            request.reason = miss_reason(message["diagnostics"]) or request.reason

    def _first(self, chain: Chain, number: int, row: Mapping[str, Any], message: Mapping[str, Any]) -> Request | None:
        """The first row of an answer: from here on the prompt of its request stands. None for what is no answer."""
        uuid, parent = row.get("uuid"), row.get("parentUuid")
        if message.get("model") == SYNTHETIC or row.get("isApiErrorMessage"):
            chain.pass_on(uuid, parent)
            self.kinds["api error"] += 1
            return None
        key = f"{message.get('id') or uuid or number}/{row.get('requestId') or ''}"
        if key in self.requests:  # written once more, or after the next request
            self.kinds[COPIED_CALL if self.requests[key].copied else SAME_CALL] += 1
            return None
        self._note_restart(chain, row)
        chain.stand_at(parent)
        stamp, prompt = chain.stamp, chain.request()
        copied = key in self.counted
        request = self._request(chain, key, number, row, message, stamp or row.get("timestamp"), prompt)
        request.copied = copied
        self.requests[key] = chain.current = request
        if copied:
            self.kinds[COPIED_CALL] += 1
            chain.events = ["resume"]  # for the first call that is no copy
        else:
            chain.events = []
            self.counted.add(key)
            self.ledger.call()
        return request

    def _request(
        self,
        chain: Chain,
        key: str,
        number: int,
        row: Mapping[str, Any],
        message: Mapping[str, Any],
        started: Any,
        prompt: Prompt,
    ) -> Request:
        held = "content" in message
        return Request(
            id=key,
            message=message.get("id"),
            request=row.get("requestId"),
            row=number,
            prompt=prompt if held else Prompt(()),
            agent=chain.name,
            parent_agent=self.started_by.get(chain.name, MAIN) if chain.name != MAIN else "",
            session=str(row.get("sessionId") or PurePath(self.file.name).stem),
            project=_last_part(row.get("cwd")),
            model=str(message.get("model") or ""),
            started=started,
            events=tuple(chain.events),
            evidence=Evidence.RECONSTRUCTED if held else Evidence.USAGE_ONLY,
            effort=row.get("effort"),
            cost=row.get("costUSD"),
        )

    def _user(self, number: int, row: Mapping[str, Any], size: int) -> str:
        """A message to the model: something a person said, or the results of tools. Returns the kind of row."""
        content, uuid = row["message"].get("content"), row.get("uuid")
        chain = self._chain(row)
        if uuid in chain.places:
            return "same row"
        stepped_back = chain.stand_at(row.get("parentUuid"))
        if type(content) is list and content and content[0].get("type") == "tool_result":
            result = row.get("toolUseResult")
            if type(result) is dict and "agentId" in result:
                self.started_by[str(result["agentId"])] = chain.name
        elif not row.get("isCompactSummary"):
            self._said(chain, content, row, stepped_back)
        count = count_of(content)
        parts = self._parts(number, row, size, not chain.inputs, count, 0)
        chain.take(parts, count, uuid, row.get("timestamp"))
        return "user"

    def _said(self, chain: Chain, content: Any, row: Mapping[str, Any], stepped_back: bool) -> None:
        """Events of a message that is no tool result."""
        self._note_restart(chain, row)
        cleared = isinstance(content, str) and content.startswith(CLEAR_COMMAND)
        if row.get("parentUuid", "") is None and chain.begun:  # a new first message: nothing before it is sent
            chain.restart()
            stepped_back = not cleared
        if stepped_back:
            chain.event("rewind")
        if cleared:
            chain.event("clear")
        elif not row.get("isMeta"):
            chain.event("user_turn")

    def _note_restart(self, chain: Chain, row: Mapping[str, Any]) -> None:
        """A session that goes on under another version of the program was resumed."""
        version = row.get("version")
        if version != chain.version:
            if chain.version is not None and version is not None:
                chain.event("resume")
            chain.version = version

    def _other(self, number: int, row: Mapping[str, Any], kind: Any, size: int) -> str:
        """A row that is no message. Returns its kind."""
        name = str(kind)[:MAX_KIND] if kind else "no type"
        if "uuid" not in row:
            return name
        chain = self._chain(row)
        if kind == "system":
            return f"{name}/{self._system(chain, row)}"
        detail = row.get("data") if kind == "progress" else row.get("attachment")
        if not isinstance(detail, dict):
            if kind == "attachment":
                raise TypeError("an attachment that is no object")
            detail = {}
        if detail.get("hookName") == RESUME_HOOK:
            chain.event("resume")
        if kind == "attachment" and detail.get("type") not in UNSENT_ATTACHMENTS:
            chain.stand_at(row.get("parentUuid"))
            parts = self._parts(number, row, size, not chain.inputs, 1, 0)
            chain.take(parts, 1, row["uuid"], row.get("timestamp"))
        else:
            chain.pass_on(row["uuid"], row.get("parentUuid"))
        return name

    def _system(self, chain: Chain, row: Mapping[str, Any]) -> str:
        """What the program notes of itself; two kinds say that the prompt changed. Returns the kind."""
        kind = str(row.get("subtype"))[:MAX_KIND]
        if kind == "compact_boundary":
            chain.restart()
            chain.event("compaction")
            chain.put(row["uuid"])
            chain.keep(_kept_rows(row.get("compactMetadata")))
            return kind
        if kind == "microcompact_boundary":
            chain.clear_results(frozenset(map(str, row["microcompactMetadata"]["compactedToolIds"])))
        chain.pass_on(row["uuid"], row.get("parentUuid"))
        return kind


def _kept_rows(metadata: Any) -> list[Any]:
    """Rows that a compaction carried over as they were: their uuids, the last one at least."""
    metadata = metadata if isinstance(metadata, dict) else {}
    segment, messages = metadata.get("preservedSegment"), metadata.get("preservedMessages")
    found = [segment.get("headUuid"), segment.get("tailUuid")] if isinstance(segment, dict) else []
    if isinstance(messages, dict):
        found += messages.get("allUuids") or messages.get("uuids") or []
    return found


@lru_cache(maxsize=64)
def _last_part(folder: Any) -> str:
    """The name of the working folder without the path to it, which is nobody's business."""
    return re.split(r"[\\/]", folder.rstrip("\\/"))[-1] if isinstance(folder, str) else ""
