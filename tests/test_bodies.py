"""Raw bodies: the spellings people log them in, and nothing of a secret in a call."""

import json
from datetime import UTC, datetime
from pathlib import Path

from hitledger.logs import bodies
from hitledger.types import Evidence
from log_reading import fixture, read, usage, written

ASK = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Is berth 4 free?"}]}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5-20250929",
    "content": [{"type": "text", "text": "Yes."}],
    "usage": {
        "input_tokens": 3,
        "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 0,
        "output_tokens": 2,
    },
}


def test_pairs_with_times_status_and_streams() -> None:
    found = read(bodies, fixture("bodies/anthropic.jsonl"))
    first, second, refused, cut = found.calls
    assert [usage(call) for call in found.calls] == [(12, 0, 1310, 60), (118, 1310, 0, 9), None, (139, 1310, 0, None)]
    assert [call.status for call in found.calls] == [200, 200, 529, 200]
    assert first.started_at == datetime(2026, 5, 4, 8, tzinfo=UTC)
    assert second.first_token_at == datetime(2026, 5, 4, 8, 0, 6, 350_000, tzinfo=UTC)
    assert second.ended_at == datetime(2026, 5, 4, 8, 0, 6, 900_000, tzinfo=UTC)
    assert {call.session for call in found.calls} == {"harbour-1"}
    assert [call.events for call in found.calls] == [("user_turn",), (), ("user_turn",), ("user_turn",)]
    assert cut.notes == ("stream_events_damaged", "stream_cut")
    assert cut.generated_text == "Berth 5 is taken."
    assert all(call.evidence is Evidence.EXACT for call in found.calls)
    assert [segment.path for segment in refused.prompt.segments()][:3] == [
        "tools[0]",
        "system[0].text",
        "messages[0].content",
    ]


def test_spellings() -> None:
    found = read(bodies, fixture("bodies/spellings.jsonl"))
    chat, deepseek, responses, swapped, http, request, answer = found.calls
    assert [(call.api, call.provider) for call in found.calls] == [
        ("chat", "openai"),
        ("chat", "deepseek"),
        ("responses", "openai"),
        ("chat", "deepseek"),
        ("messages", "anthropic"),
        ("messages", "anthropic"),
        ("", "anthropic"),
    ]
    assert [usage(call) for call in found.calls] == [
        (58, 1152, None, 6),
        (58, 1152, None, 2),
        (166, 1024, None, 6),
        (58, 1152, None, 2),
        (12, 1310, 0, 3),
        None,
        (12, 1310, 0, 3),
    ]
    assert (chat.tier, responses.tier) == ("priority", "")
    assert deepseek.session == "harbour-2"
    assert {(entry.name, entry.value) for entry in responses.route} == {("prompt_cache_key", '"harbour"')}
    assert {(entry.name, entry.value) for entry in http.route} == {
        ("account", '"org-harbour"'),
        ("host", '"api.anthropic.com"'),
    }
    assert [parameter.name for parameter in http.parameters] == ["betas"]
    assert request.notes == ("usage_missing",)
    assert swapped.started_at == datetime(2026, 5, 4, 8, 0, 10, tzinfo=UTC)  # the answer's own `created`
    assert (answer.evidence, len(answer.prompt)) == (Evidence.USAGE_ONLY, 0)
    assert found.skips == [(8, "holds no request or response body that is known")]


def test_one_document_that_holds_pairs() -> None:
    found = read(bodies, fixture("bodies/list.json"))
    assert [usage(call) for call in found.calls] == [(12, 0, 1310, 60), (118, 1310, 0, 9)]
    assert [call.place.row for call in found.calls] == [1, 2]


def test_secrets_never_enter_a_call() -> None:
    for name in ("bodies/anthropic.jsonl", "bodies/spellings.jsonl"):
        printed = repr(read(bodies, fixture(name)).calls)
        assert "not-a-real" not in printed
        assert "not-real" not in printed


def test_the_same_call_in_two_files_counts_once(tmp_path: Path) -> None:
    pair = json.dumps({"request": ASK, "response": ANSWER})
    found = read(bodies, written(tmp_path, "a.jsonl", pair), written(tmp_path, "b.jsonl", pair))
    assert len(found.calls) == 1
    assert found.known == {"same call": 1}


def test_the_id_of_a_mock_is_no_id(tmp_path: Path) -> None:
    other = {**ASK, "messages": [{"role": "user", "content": "Is berth 5 free?"}]}
    rows = [json.dumps({"request": request, "response": ANSWER}) for request in (ASK, other)]
    assert len(read(bodies, written(tmp_path, "a.jsonl", "\n".join(rows))).calls) == 2


def test_sessions_of_claude_code(tmp_path: Path) -> None:
    session = "11111111-2222-3333-4444-555555555555"
    old = {**ASK, "metadata": {"user_id": f"user_ab_account__session_{session}"}}
    new = {**ASK, "metadata": {"user_id": json.dumps({"device_id": "d", "session_id": session})}}
    found = read(bodies, written(tmp_path, "a.jsonl", f"{json.dumps(old)}\n{json.dumps(new)}\n{json.dumps(ASK)}"))
    assert [call.session for call in found.calls] == [session, session, "a.jsonl"]


def test_the_billing_header_is_no_prompt_on_anthropics_own_api(tmp_path: Path) -> None:
    system = [{"type": "text", "text": "x-anthropic-billing-header: cch=1;"}, {"type": "text", "text": "Be brief."}]
    row = {"request": {**ASK, "system": system}, "response": ANSWER}
    own, local = (
        {**row, "url": "https://api.anthropic.com/v1/messages"},
        {**row, "url": "http://localhost:8000/v1/messages"},
    )
    found = read(bodies, written(tmp_path, "a.jsonl", f"{json.dumps(own)}\n{json.dumps(local)}"))
    assert [next(segment.path for segment in call.prompt.segments()) for call in found.calls] == [
        "system[1].text",
        "system[0].text",
    ]


def test_a_responses_call_that_continues_an_answer_has_the_whole_prompt(tmp_path: Path) -> None:
    first = {"model": "gpt-5.4", "instructions": "Be brief.", "input": "One?"}
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "1"}]}]
    answer = {"id": "resp_1", "object": "response", "output": output, "usage": {"input_tokens": 5, "output_tokens": 1}}
    second = {"model": "gpt-5.4", "input": [{"role": "user", "content": "Two?"}], "previous_response_id": "resp_1"}
    third = {**second, "previous_response_id": "resp_of_another_log"}
    rows = [{"request": first, "response": answer}, {"request": second}, {"request": third}]
    calls = read(bodies, written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))).calls
    assert [call.evidence for call in calls] == [Evidence.EXACT, Evidence.EXACT, Evidence.RECONSTRUCTED]
    assert [segment.text for segment in calls[1].prompt.segments()] == ["One?", "1", "Two?"]
    assert "prompt_rebuilt" in calls[1].notes
    assert calls[2].prompt.segments()[0].kind == "hidden"


def test_token_ids_and_text_prompts_of_engines(tmp_path: Path) -> None:
    ids = {"request": {"model": "local", "prompt": [5, 6, 7]}, "response": {"choices": [{"text": "x"}]}}
    plain = {"request": {"model": "local", "prompt": "Once"}, "response": {"choices": [{"text": "x"}]}}
    calls = read(bodies, written(tmp_path, "a.jsonl", f"{json.dumps(ids)}\n{json.dumps(plain)}")).calls
    assert calls[0].prompt_ids == (5, 6, 7)
    assert [segment.text for segment in calls[1].prompt.segments()] == ["Once"]


def test_what_is_no_model_call_is_known(tmp_path: Path) -> None:
    row = {"request": ASK, "response": {"input_tokens": 3}, "url": "https://api.anthropic.com/v1/messages/count_tokens"}
    assert read(bodies, written(tmp_path, "a.jsonl", json.dumps(row))).known == {"no model call": 1}


def test_a_saved_conversation_is_no_request(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    saved = written(tmp_path, "a.json", json.dumps({"model": "gpt-4.1", "messages": messages}))
    assert not bodies.sniff(saved)


def test_deep_nesting_is_skipped(tmp_path: Path) -> None:
    deep = (
        '{"model": "m", "messages": [{"role": "user", "content": [{"type": "x", "y": ' + "[" * 400 + "]" * 400 + "}]}]}"
    )
    found = read(bodies, written(tmp_path, "a.jsonl", deep))
    assert found.calls == []
    assert found.skips[0][1].startswith("the body cannot be laid out")


def test_rows_that_cannot_be_used(tmp_path: Path) -> None:
    good = {"request": ASK, "response": ANSWER, "added_by_a_newer_version": {"x": 1}}
    no_usage = {"request": ASK, "response": {key: value for key, value in ANSWER.items() if key != "usage"}}
    rows = [json.dumps(good), "7", "[1]", json.dumps({"request": 5}), json.dumps(no_usage), json.dumps(good)[:80]]
    found = read(bodies, written(tmp_path, "odd.jsonl", "\n".join(rows)))
    assert [usage(call) for call in found.calls] == [(3, 20, 0, 2), None]
    assert found.calls[1].notes == ("usage_missing",)
    assert [row for row, _ in found.skips] == [2, 3, 4, 6]


def test_a_printed_document_that_was_cut(tmp_path: Path) -> None:
    pairs = [{"request": ASK, "response": ANSWER}] * 2
    text = json.dumps({"calls": pairs}, indent=2)
    file = written(tmp_path, "cut.json", text[:-120])
    assert bodies.sniff(file)
    found = read(bodies, file)
    assert [usage(call) for call in found.calls] == [(3, 20, 0, 2)]
    assert found.skips == [(2, "the file ends inside this record")]


def test_an_empty_list_is_claimed_by_nobody(tmp_path: Path) -> None:
    assert not bodies.sniff(written(tmp_path, "empty.json", "[]"))
    assert read(bodies, written(tmp_path, "named.json", "[]")).ledgers[0].rows == 0


def test_a_printed_document_whose_last_lines_look_like_rows(tmp_path: Path) -> None:
    text = '{\n"model": "gpt-4.1",\n"messages": [\n{"role": "system", "content": "x"},\n{"role": "user", "content": "y"}\n]\n}\n'
    file = written(tmp_path, "printed.json", text)
    assert bodies.sniff(file)
    assert len(read(bodies, file).calls[0].prompt) == 2
