"""mini-swe-agent trajectories: one growing list of messages, each answer with the raw response."""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.fields import dollars, first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.parameters import route_of
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden
from hitledger.types import Call, Evidence, Kind, Place, Prompt, Segment, Tier, prompt_of
from hitledger.usage import read_usage, served_tier

FORMAT = "mini-swe-agent"
SENT_KEYS = ("role", "content", "tool_calls", "tool_call_id")
BARE_KEYS = frozenset({"role", "content", "extra", "timestamp"})
ROLES = frozenset({"system", "user", "assistant", "tool", "exit"})


def sniff(file: LogFile) -> bool:
    """A document with its format's name or its `info`; the first version wrote the bare list of messages."""
    head = opening(file)
    if isinstance(head, list):
        rows = [mapping(row) for row in head]
        plain = all(row and row.keys() <= BARE_KEYS and isinstance(row.get("content"), str) for row in rows)
        return plain and len(rows) > 1 and rows[0].get("role") == "system" and rows[1].get("role") == "user"
    document = mapping(head)
    info = mapping(document.get("info"))
    named = text(document.get("trajectory_format")).startswith("mini-swe-agent") or "mini_version" in info
    return named or ("model_stats" in info and isinstance(document.get("messages"), list))


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in file order: one for each answer, which had all messages before it as its prompt."""
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            document = mapping(value.data)
            messages = items(value.data) or items(document.get("messages"))
            ledger.count_rows(len(messages))
            yield from _Run(file.name, document, messages).calls(ledger, value.cut)


class _Run:
    """One trajectory."""

    def __init__(self, file: str, document: Mapping[str, Any], messages: list[Any]) -> None:
        self.file = file
        self.messages = [mapping(message) for message in messages]
        self.layout = Layout()
        info = mapping(document.get("info"))
        self.model = text(mapping(mapping(info.get("config")).get("model")).get("model_name"))
        self.session = first_text(document.get("instance_id"), file)
        uses_tools = any(message.get("tool_calls") or message.get("role") == "tool" for message in self.messages)
        self.evidence = Evidence.RECONSTRUCTED if uses_tools else Evidence.EXACT
        self.prompt = prompt_of((hidden(label=f"{FORMAT}: tools"),)) if uses_tools else Prompt(())

    def calls(self, ledger: FileLedger, cut: bool) -> Iterator[Call]:
        """The calls, and each message's entry in the ledger."""
        events: tuple[str, ...] = ("user_turn",)
        ended = None
        for number, message in enumerate(self.messages, 1):
            role = text(message.get("role"))
            if (cut and number == len(self.messages)) or role not in ROLES:
                ledger.skip(number, "the file ends inside this message" if cut else "a message without a role")
                continue
            extra = mapping(message.get("extra"))
            if role == "assistant":
                ledger.call()
                call = self._call(number, mapping(extra.get("response")), extra, events, ended)
                yield call
                events = ()
            else:
                ledger.known(f"{role} message")
            ended = instant(extra.get("timestamp")) or ended
            self.prompt = self.prompt.extend(self._segments(number, role, message))

    def _segments(self, number: int, role: str, message: Mapping[str, Any]) -> tuple[Segment, ...]:
        path = f"messages[{number - 1}]"
        if role == "system":
            return (self.layout.text(text(message.get("content")), Kind.SYSTEM, Tier.SYSTEM, f"{path}.content", role),)
        sent = {key: message[key] for key in SENT_KEYS if key in message}
        return self.layout.blocks(sent, role, path, Api.CHAT)

    def _call(
        self, number: int, response: Mapping[str, Any], extra: Mapping[str, Any], events: tuple[str, ...], before: Any
    ) -> Call:
        logged = mapping(response.get("usage"))
        usage, notes = read_usage(logged)
        model = first_text(self.model, response.get("model"))
        cost = dollars(logged.get("cost"))
        return Call(
            id=first_text(response.get("id"), f"{self.session}:{number}"),
            session=self.session,
            agent="main",
            place=Place(self.file, number),
            provider=provider_of(model),
            model=model,
            evidence=self.evidence,
            prompt=self.prompt,
            api=Api.CHAT,
            started_at=instant(response.get("created")) or before,
            ended_at=instant(extra.get("timestamp")),
            served_model=text(response.get("model")),
            usage=usage,
            route=route_of({}, upstream=text(response.get("provider"))),
            logged_cost=dollars(extra.get("cost")) if cost is None else cost,
            events=events,
            tier=served_tier(logged, response),
            notes=("start_estimated", *notes, *(() if usage else ("usage_missing",))),
        )
