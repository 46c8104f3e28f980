"""ShareGPT: an answer is a call with what was said before it."""

import json
from pathlib import Path

from hitledger.logs import bodies, sharegpt
from hitledger.types import Evidence
from log_reading import fixture, read, written


def test_calls() -> None:
    found = read(sharegpt, fixture("sharegpt/conversations.json"))
    assert [call.id for call in found.calls] == [
        *("identity_0:1", "identity_0:3", "identity_1:1", "identity_2:1", "identity_2:3", "identity_2:5"),
        *("identity_3:1", "identity_3:3"),
    ]
    second = found.calls[1].prompt.segments()
    assert [segment.role for segment in second] == ["system", "user", "assistant", "user"]
    assert second[0].kind == "hidden"
    assert [segment.text for segment in second[1:]] == [
        "Who are you?",
        "I am Vicuna, a language model trained by researchers from Large Model Systems Organization (LMSYS).",
        "Have a nice day!",
    ]
    assert {call.evidence for call in found.calls} == {Evidence.RECONSTRUCTED}


def test_only_conversations_are_claimed() -> None:
    assert sharegpt.sniff(fixture("sharegpt/conversations.json"))
    assert not bodies.sniff(fixture("sharegpt/conversations.json"))
    assert not sharegpt.sniff(fixture("bodies/list.json"))


def test_damage(tmp_path: Path) -> None:
    good = {"id": "a", "conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]}
    rows = [good, {"id": "b", "conversations": [{"from": "human", "value": 5}]}, "text", {"id": "c"}]
    rows += [{"id": "d", "conversations": [{"from": "human", "value": "only a question"}]}]
    found = read(sharegpt, written(tmp_path, "odd.json", json.dumps(rows)))
    assert len(found.calls) == 1
    assert [row for row, _ in found.skips] == [2, 3, 4]
    assert found.known == {"conversation without an answer": 1}


def test_a_cut_file(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "fixtures/sharegpt/conversations.json").read_text()
    found = read(sharegpt, written(tmp_path, "cut.json", text[:-200]))
    assert len(found.calls) == 6
    assert found.skips == [(4, "the file ends inside this record")]
