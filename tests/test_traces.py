"""Traces: what is read, and that a tampered row is refused with its file and line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hitledger.errors import NothingToReadError, UsageError
from hitledger.results import SegmentResult, to_json
from hitledger.types import Kind
from hitledger_replay.errors import TraceError
from hitledger_replay.traces import read_trace, read_traces
from hitledger_replay.traces.keys import chained_keys
from hitledger_replay.traces.kvtester import read_kvtester
from hitledger_replay.traces.mooncake import read_mooncake
from hitledger_replay.traces.sessions import sessions
from hitledger_replay.traces.trace import Trace
from report_audits import audit_of, call

FIXTURES = Path(__file__).parent.parent / "fixtures" / "traces"


def mooncake(tmp_path: Path, rows: list[Any], name: str = "t.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def row(**changes: Any) -> dict[str, Any]:
    return {"timestamp": 1000, "input_length": 1500, "output_length": 7, "hash_ids": [1, 2, 3]} | changes


def test_mooncake_rows() -> None:
    trace = read_mooncake(FIXTURES / "mooncake-conversation-120.jsonl")
    assert (trace.num_requests, trace.block_size, trace.name) == (120, 512, "mooncake-conversation-120")
    assert (trace.input_tokens[0], trace.output_tokens[0], trace.num_blocks[0]) == (6758, 500, 14)
    assert trace.times[:3].tolist() == [0.0, 0.0, 0.0]


def test_mooncake_sessions_follow_what_a_request_continues(tmp_path: Path) -> None:
    """Rows 1 and 2 share a first block only; row 3 goes on from row 2, row 4 from row 1, row 5 is new."""
    rows = [
        row(input_length=1000, hash_ids=[1, 2]),
        row(input_length=1600, hash_ids=[1, 3, 4, 5]),
        row(input_length=2048, hash_ids=[1, 3, 4, 6]),
        row(input_length=1536, hash_ids=[1, 7, 8]),
        row(input_length=512, hash_ids=[9]),
    ]
    assert sessions(read_mooncake(mooncake(tmp_path, rows))).tolist() == [0, 0, 0, 0, 4], (
        "row 1's only full block is the one all others begin with"
    )
    rows[0] = row(input_length=1024, hash_ids=[1, 2])
    assert sessions(read_mooncake(mooncake(tmp_path, rows))).tolist() == [0, 1, 1, 3, 4]


def test_row_block_size_wins(tmp_path: Path) -> None:
    path = mooncake(tmp_path, [row(block_size=16, input_length=33)] * 2)
    assert read_mooncake(path).block_size == 16


def test_kvtester_subagents_are_put_in_order_of_time() -> None:
    """trace_0291: every request once, sub-agent times counted from the sub-agent's start, no id seen twice in a row."""
    raw = json.loads((FIXTURES / "trace_0291.json").read_text())
    flat = []
    for entry in raw["requests"]:
        inner = entry.get("requests", [entry])
        start = entry["t"] if "requests" in entry else 0.0
        flat += [(start + request["t"], request["in"], len(request["hash_ids"])) for request in inner]
    flat.sort(key=lambda item: item[0])
    trace = read_kvtester(FIXTURES / "trace_0291.json")
    assert trace.input_tokens.tolist() == [tokens for _, tokens, _ in flat]
    assert trace.num_blocks.tolist() == [blocks for _, _, blocks in flat]
    assert set(trace.sessions.tolist()) == {0, 1, 2}, "the main agent and two sub-agents"
    assert trace.warm_tokens == raw["tool_tokens"] + raw["system_tokens"]


TAMPERED: list[tuple[dict[str, Any], str]] = [
    ({"input_length": -5}, "input length -5"),
    ({"input_length": 0}, "input length 0"),
    ({"input_length": True}, "input length True"),
    ({"input_length": 1.5}, "input length 1.5"),
    ({"input_length": 10**15}, "input length"),
    ({"output_length": -1}, "output length -1"),
    ({"hash_ids": [1]}, "1 block ids for 1500 tokens"),
    ({"hash_ids": [1, 2, 3, 4]}, "4 block ids for 1500 tokens"),
    ({"hash_ids": [1, 2, 1]}, "occurs twice"),
    ({"hash_ids": [1, 2, 1 << 63]}, "at most 63 bits"),
    ({"hash_ids": [1, 2, 10**30]}, "at most 63 bits"),
    ({"hash_ids": [1, 2, -3]}, "block id -3 is negative"),
    ({"hash_ids": [1, 2, "3"]}, "at most 63 bits"),
    ({"hash_ids": [1, 2, 3.0]}, "at most 63 bits"),
    ({"hash_ids": [True, False, True]}, "at most 63 bits"),
    ({"hash_ids": [[1], [2], [3]]}, "at most 63 bits"),
    ({"hash_ids": [1, [2], 3]}, "at most 63 bits"),
    ({"hash_ids": {"a": 1}}, "a dict, not a list"),
    ({"hash_ids": None}, "a NoneType, not a list"),
    ({"timestamp": 500}, "before 1.0 of the row in front"),
    ({"timestamp": -1}, "not a number of seconds"),
    ({"timestamp": "now"}, "not a number of seconds"),
    ({"block_size": 64}, "block size 64 differs from 512"),
]


@pytest.mark.parametrize(("changes", "message"), TAMPERED)
def test_tampered_mooncake_rows_are_refused_with_the_line(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = mooncake(tmp_path, [row(), "", row(**changes)])
    with pytest.raises(TraceError, match=rf"t\.jsonl, line 3: .*{message}"):
        read_mooncake(path)


def test_a_hostile_name_is_shown_short_and_without_control_characters(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(conversation(id="\x1b[31m" + "x" * 1000)))
    assert read_kvtester(path).name == "\\x1b[31m" + "x" * 195
    with pytest.raises(TraceError) as caught:
        read_mooncake(mooncake(tmp_path, [row(input_length="9" * 10_000)]))
    assert len(str(caught.value)) < 300


def test_an_absurd_block_size_is_refused_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"t\.jsonl, line 2: block size 0 is not a number of tokens"):
        read_mooncake(mooncake(tmp_path, ["", row(block_size=0)]))


@pytest.mark.parametrize("line", ["{", "[1]", "nonsense", "[" * 10_000, '{"hash_ids": NaN}'])
def test_lines_that_are_no_rows(tmp_path: Path, line: str) -> None:
    with pytest.raises(TraceError, match=r"t\.jsonl, line 2: "):
        read_mooncake(mooncake(tmp_path, [row(), line]))


def conversation(**changes: Any) -> dict[str, Any]:
    requests = [
        {"t": 1.0, "in": 130, "out": 5, "hash_ids": [1, 2]},
        {"t": 2.0, "in": 200, "out": 5, "hash_ids": [1, 2, 3]},
    ]
    return {"id": "c", "block_size": 64, "hash_id_scope": "local", "requests": requests} | changes


def second(**changes: Any) -> dict[str, Any]:
    whole = conversation()
    whole["requests"][1] |= changes
    return whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (second(**{"in": -1}), r"at requests\[1\]: input length -1"),
        (second(out=-1), r"at requests\[1\]: output length -1"),
        (second(hash_ids=[1, 2]), r"at requests\[1\]: 2 block ids for 200 tokens"),
        (second(hash_ids=[1, 2, 2]), r"at requests\[1\]: .*twice"),
        (second(hash_ids=[1, 2, 1 << 64]), r"at requests\[1\]: .*63 bits"),
        (second(t=0.5), r"at requests\[1\]: time 0.5 is before 1.0"),
        (second(t=None), "time .t. in seconds"),
        (second(requests=[{"t": 0, "requests": []}]), "sub-agent within a sub-agent"),
        (conversation(block_size=0), "block size 0"),
        (conversation(requests={}), "list of requests"),
        (conversation(requests=[]), "no request in it"),
        (conversation(requests=[3]), "time .t. in seconds"),
        ([1], "no conversation"),
    ],
)
def test_tampered_conversations_are_refused_with_the_request(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(content))
    with pytest.raises(TraceError, match=rf"c\.json.*{message}"):
        read_kvtester(path)


def test_a_trace_given_twice_and_a_folder_without_any(tmp_path: Path) -> None:
    path = str(FIXTURES / "trace_0103.json")
    with pytest.raises(TraceError, match="second trace with the id 'trace_0103'"):
        list(read_traces([path, path]))
    for missing in (str(tmp_path), str(tmp_path / "none.json")):
        with pytest.raises(NothingToReadError, match="no trace there"):
            list(read_traces([missing]))


def test_formats_are_told_apart() -> None:
    names = [trace.name for trace in read_traces([str(FIXTURES)])]
    assert names == ["mooncake-conversation-120", "mooncake-synthetic-80", "trace_0103", "trace_0291"]


def test_sparse_ids_become_dense(tmp_path: Path) -> None:
    rows = [row(hash_ids=[1 << 62, 5, 7]), row(hash_ids=[1 << 62, 5, 9])]
    assert read_mooncake(mooncake(tmp_path, rows)).keys.tolist() == [3, 0, 1, 3, 0, 2]


def test_ids_that_are_no_prefix_hashes_are_renamed_along_the_path() -> None:
    """Block 5 behind 1 and behind 2 is not the same cache."""
    keys, repeated = chained_keys(np.array([1, 5, 2, 5, 1, 5]), np.array([0, 2, 4, 6]))
    assert repeated is None
    assert keys.tolist() == [0, 1, 2, 3, 0, 1]


def test_coarser_blocks_by_hand() -> None:
    """Blocks of 512 as blocks of 1024: 1500 tokens are one whole and one partial; 2048 are two whole."""
    base = {"sessions": np.zeros(2, dtype=np.int64), "times": np.zeros(2), "output_tokens": np.zeros(2, dtype=np.int64)}
    trace = Trace("t", 512, np.array([0, 1, 2, 0, 1, 3, 4]), np.array([0, 3, 7]), np.array([1500, 2048]), **base)
    coarse = trace.coarsen(1024)
    assert (coarse.keys.tolist(), coarse.starts.tolist()) == ([1, 2, 1, 4], [0, 2, 4])
    for size in (256, 700):
        with pytest.raises(UsageError, match="cannot become"):
            trace.coarsen(size)


def test_full_blocks_only_stay_full_blocks_only() -> None:
    fine = read_trace(FIXTURES / "trace_0103.json")
    coarse = fine.coarsen(256)
    assert coarse.num_blocks.tolist() == (fine.input_tokens // 256).tolist()


@pytest.mark.parametrize("size", [16, 64])
def test_our_own_audit_is_a_trace(tmp_path: Path, size: int) -> None:
    """The second call repeats the first one's two segments by reference and goes on; the third is another model's."""

    def segment(tokens: int, digest: str) -> SegmentResult:
        return SegmentResult(Kind.TEXT, "messages[0]", tokens, digest, False)

    calls = [
        call(0, 0, 100, segments=(segment(60, "a"), segment(40, "b"))),
        call(1, 0, 148, minute=1, shared_segments=2, segments=(segment(48, "c"),)),
        call(2, 0, 100, minute=2, model="other", shared_segments=2, segments=()),
        call(3, 0, 9, minute=3, segments=(segment(60, "a"), SegmentResult(Kind.IMAGE, "x", None, "d", False))),
    ]
    path = tmp_path / "audit.json"
    path.write_bytes(to_json(audit_of(calls)))
    trace = read_trace(path, size)
    assert trace.input_tokens.tolist() == [100, 148, 100], "a call with an uncounted segment is left out"
    assert trace.num_blocks.tolist() == [-(-n // size) for n in (100, 148, 100)]
    assert trace.times.tolist() == [0.0, 60.0, 120.0]
    shared = [bool(a == b) for a, b in zip(trace.blocks(0), trace.blocks(1), strict=False)]
    assert shared == [True] * (100 // size) + [False], "whole blocks of the first prompt are the second's too"
    assert not set(trace.blocks(2).tolist()) & set(trace.blocks(1).tolist())


def test_an_audit_without_segments_says_so(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_bytes(to_json(audit_of([call(0, 0, 100, segments=())])))
    with pytest.raises(TraceError, match=r"audit\.json: no call with counted segments"):
        read_trace(path)
