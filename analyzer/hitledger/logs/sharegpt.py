"""ShareGPT conversations: `[{id, conversations: [{from, value}]}]`, each answer a call with the messages before it.

Messages only: no system prompt or tools, no model, time or usage. Good for the engine columns and nothing else.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.fields import items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.records import head_records, rows_or_records
from hitledger.segments import Layout, hidden
from hitledger.types import Call, Evidence, Kind, Place, Tier, prompt_of

FORMAT = "sharegpt"
ROLES = {"human": "user", "user": "user", "gpt": "assistant", "chatgpt": "assistant", "assistant": "assistant"}
ROLES |= {"system": "system", "tool": "tool", "observation": "tool", "function_call": "assistant"}
LIST_KEYS = ("conversations", "data")


def sniff(file: LogFile) -> bool:
    """Records whose `conversations` are turns with `from` and `value`."""
    return any(_turns(record) for record in head_records(file, LIST_KEYS, _is_conversation))


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """One call per answer. A conversation is the row; a conversation without an answer is a known row."""
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        layout = Layout()
        for number, record in rows_or_records(file, ledger, LIST_KEYS, _is_conversation):
            turns = _turns(record)
            if not turns:
                ledger.skip(number, "no turns with `from` and `value`")
                continue
            calls = list(_calls(record, turns, Place(file.name, number), layout))
            if not calls:
                ledger.known("conversation without an answer")
                continue
            ledger.count_rows(len(calls) - 1)  # the conversation itself is counted
            for call in calls:
                ledger.call()
                yield call


def _is_conversation(document: Mapping[str, Any]) -> bool:
    return bool(_turns(document))


def _turns(record: Any) -> list[Mapping[str, Any]]:
    turns = [mapping(turn) for turn in items(mapping(record).get("conversations"))]
    good = all(isinstance(turn.get("value"), str) and text(turn.get("from")) in ROLES for turn in turns)
    return turns if good else []


def _calls(record: Mapping[str, Any], turns: list[Mapping[str, Any]], place: Place, layout: Layout) -> Iterator[Call]:
    name = text(record.get("id")) or f"{place.file}:{place.row}"
    prompt = prompt_of((hidden(),))
    for index, turn in enumerate(turns):
        role = ROLES[text(turn.get("from"))]
        path = f"[{place.row - 1}].conversations[{index}].value"
        if role == "assistant" and index:
            yield Call(
                id=f"{name}:{index}",
                session=name,
                agent="main",
                place=place,
                provider="",
                model="",
                evidence=Evidence.RECONSTRUCTED,
                prompt=prompt,
                generated_text=turn["value"],
                events=("user_turn",) if ROLES[text(turns[index - 1].get("from"))] == "user" else (),
            )
        prompt = prompt.extend((layout.text(turn["value"], Kind.TEXT, Tier.MESSAGES, path, role),))
