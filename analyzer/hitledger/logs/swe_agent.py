"""SWE-agent `.traj` files: steps with (newer ones) or without the prompt that each sent; usage only as totals."""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.fields import count, first_text, items, mapping, parsed, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import FileLedger, Ingest
from hitledger.logs.values import opening, values
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden
from hitledger.types import Call, Evidence, Place, Prompt, Segment, prompt_of

FORMAT = "swe-agent"
STEP_KEYS = frozenset({"action", "observation", "thought"})
SENT = ("query", "messages")  # where a step keeps its prompt, newest name first
TOTALS = ("api_calls", "tokens_sent", "tokens_received", "instance_cost")


def sniff(file: LogFile) -> bool:
    """Steps with an action and an observation, or the history alone (a demonstration)."""
    head = mapping(opening(file))
    steps, history = items(head.get("trajectory")), items(head.get("history"))
    if steps:
        return mapping(steps[0]).keys() >= STEP_KEYS
    return bool(history) and mapping(history[0]).keys() >= {"role", "content", "agent"}


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """One call a step, in file order."""
    layout = Layout()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            document = mapping(value.data)
            steps = items(document.get("trajectory"))
            if not steps:
                _demonstration(items(document.get("history")), ledger)
                continue
            ledger.count_rows(len(steps))
            _say_totals(mapping(mapping(document.get("info")).get("model_stats")), ledger)
            run = _Run(file.name, document, layout)
            for number, step in enumerate(map(mapping, steps), 1):
                if (value.cut and number == len(steps)) or not step.keys() >= STEP_KEYS:
                    ledger.skip(number, "the file ends inside this step" if value.cut else "not a step")
                else:
                    ledger.call()
                    yield run.call(number, step)


def _demonstration(history: list[Any], ledger: FileLedger) -> None:
    ledger.count_rows(len(history) or 1)
    for _ in history or (None,):
        ledger.known("message of a demonstration, which was not sent" if history else "trajectory without steps")


def _say_totals(stats: Mapping[str, Any], ledger: FileLedger) -> None:
    said = [f"{name} {stats[name]}" for name in TOTALS if isinstance(stats.get(name), int | float)]
    if said:
        ledger.note(f"total of the run: {', '.join(said)}")


class _Run:
    """One trajectory. Step k answered what stood in the history before the model's k-th own message."""

    def __init__(self, file: str, document: Mapping[str, Any], layout: Layout) -> None:
        self.file = file
        self.layout = layout
        self.stats = mapping(mapping(document.get("info")).get("model_stats"))
        self.history = [mapping(message) for message in items(document.get("history"))]
        own = [message.get("role") == "assistant" and not message.get("is_demo") for message in self.history]
        self.answers = [index for index, is_own in enumerate(own) if is_own]
        config = document.get("replay_config")
        model = mapping(mapping(mapping(parsed(config) or config).get("agent")).get("model"))
        self.model = text(model.get("name"))
        self.segments: list[Segment] = []  # of the history's first messages, `laid_out` of them
        self.laid_out = 0

    def call(self, number: int, step: Mapping[str, Any]) -> Call:
        """The call of a step. A run that counted no tokens was replayed or typed by a person, which a note says."""
        sent = next((step[key] for key in SENT if isinstance(step.get(key), list)), None)
        evidence, prompt = self._prompt(number, sent)
        notes = ["usage_per_session_only"]
        if self.stats and not count(self.stats.get("tokens_sent")):
            notes.append("no_tokens_counted_in_the_run")
        return Call(
            id=f"{self.file}:{number}",
            session=self.file,
            agent="main",
            place=Place(self.file, number),
            provider=provider_of(self.model),
            model=self.model,
            evidence=evidence,
            prompt=prompt,
            api=Api.CHAT,
            generated_text=first_text(step.get("response"), step.get("thought")) or None,
            events=("user_turn",) if number == 1 else (),
            notes=tuple(notes),
        )

    def _prompt(self, number: int, sent: list[Any] | None) -> tuple[Evidence, Prompt]:
        if sent is None:
            return Evidence.RECONSTRUCTED, self._remembered(number)
        messages = [_plain(mapping(message)) for message in sent]
        prompt = self.layout.prompt({"messages": messages}, Api.CHAT)
        if not _calls_tools(messages):
            return Evidence.EXACT, prompt
        return Evidence.RECONSTRUCTED, prompt_of((_tools(), *prompt.segments()))

    def _remembered(self, number: int) -> Prompt:
        """The history up to the answer of a step. It grows from step to step, and each message is laid out once."""
        end = self.answers[number - 1] if number <= len(self.answers) else len(self.history)
        added = [_plain(message) for message in self.history[self.laid_out : end]]
        if not self.laid_out:
            self.segments += self.layout.prompt({"messages": added}, Api.CHAT).segments()
        else:  # behind the first answer no message belongs to the system prompt
            for index, message in enumerate(added, self.laid_out):
                role = str(message.get("role", ""))
                self.segments += self.layout.blocks(message, role, f"messages[{index}]", Api.CHAT)
        self.laid_out = end
        return prompt_of((_tools(), *self.segments))


def _tools() -> Segment:
    """The tool definitions, which the log does not hold."""
    return hidden(label=f"{FORMAT}: tools")


def _calls_tools(messages: list[dict[str, Any]]) -> bool:
    """Whether tool definitions were sent too, which the log does not hold."""
    return any(message.get("tool_calls") or message.get("role") == "tool" for message in messages)


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as it is sent, without what SWE-agent notes on it."""
    plain = {key: message[key] for key in ("role", "content", "tool_calls") if message.get(key) is not None}
    answered = items(message.get("tool_call_ids"))
    return {**plain, "tool_call_id": answered[0]} if answered else plain
