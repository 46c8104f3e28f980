"""VCR cassettes: usage of each call to the token, on shipped cassettes and on real ones where they are there."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from hitledger.logs import vcr
from hitledger.logs.files import LogFile
from log_reading import CORPUS, FIXTURES, fixture, folder, read, usage, written


def test_deepseek_tools_added() -> None:
    calls = read(vcr, fixture("vcr/deepseek_tools_added.yaml")).calls
    assert [usage(call) for call in calls] == [(51, 512, None, 116), (875, 0, None, 79), (80, 896, None, 61)]
    assert {call.provider for call in calls} == {"deepseek"}
    tools = [[segment.name for segment in call.prompt.segments() if segment.kind == "tool"] for call in calls]
    assert tools[0] != tools[1]
    assert tools[1] == tools[2]


@pytest.mark.parametrize(("api", "output"), [("chat", 4), ("responses", 5)])
def test_openai_prompt_cache(api: str, output: int) -> None:
    calls = read(vcr, fixture(f"vcr/openai_{api}_prompt_cache.yaml")).calls
    assert [usage(call) for call in calls] == [(8, 0, 4012, output), (8, 4012, 0, output)]
    assert [call.input_tokens for call in calls] == [4020, 4020]
    assert [call.api for call in calls] == [api, api]
    assert "30m" in {segment.mark for segment in calls[0].prompt.segments()}
    first, second = ([segment.digest for segment in call.prompt.segments()] for call in calls)
    assert first[0] == second[0]


def test_a_router_with_its_costs() -> None:
    calls = read(vcr, fixture("vcr/openrouter_anthropic_cache.yaml")).calls
    assert [usage(call) for call in calls] == [(3, 0, 2569, 63), (1, 2569, 79, 100), (3, 2240, 329, 100)]
    assert [call.input_tokens for call in calls] == [2572, 2649, 2572]
    assert [call.logged_cost for call in calls] == [Decimal("0.01058775"), Decimal("0.00256995"), Decimal("0.00341475")]
    assert {call.provider for call in calls} == {"openrouter"}
    assert ("upstream", '"Anthropic"') in {(entry.name, entry.value) for entry in calls[0].route}


def test_converse_with_a_changing_tool_choice() -> None:
    calls = read(vcr, fixture("vcr/bedrock_nova_tool_choice.yaml")).calls
    assert [usage(call) for call in calls] == [
        (22, 0, 2492, 13),
        (64, 0, 2492, 4),
        (22, 2492, 0, 13),
        (458, 2098, 0, 4),
    ]
    assert {call.model for call in calls} == {"us.amazon.nova-lite-v1:0"}
    choices = [parameter.value for call in calls for parameter in call.parameters if parameter.name == "tool_choice"]
    assert choices == ['{"tool":{"name":"catalog_lookup"}}', '{"auto":{}}'] * 2


def test_compressed_bodies_date_header_and_other_requests() -> None:
    found = read(vcr, fixture("vcr/compressed_body.yaml"))
    assert [usage(call) for call in found.calls] == [(12, 0, 1310, 3), (12, 1310, 0, 3)]
    assert found.calls[0].started_at == datetime(2026, 5, 4, 8, 0, 2, tzinfo=UTC)
    assert found.calls[0].notes == ("start_estimated",)
    assert found.known == {"no model call": 1}
    assert "not-a-real" not in repr(found.calls)


def test_a_cassette_is_a_session() -> None:
    calls = read(vcr, *folder("vcr")).calls
    assert len(calls) == 16
    assert len({call.session for call in calls}) == 6


@pytest.mark.parametrize("name", ["bodies/anthropic.jsonl", "har/chat.har", "vcr/README.md"])
def test_other_files_are_not_claimed(name: str) -> None:
    assert not vcr.sniff(fixture(name))


def test_a_truncated_cassette_gives_the_interactions_in_front_of_the_damage(tmp_path: Path) -> None:
    text = (FIXTURES / "vcr/openai_chat_prompt_cache.yaml").read_text()
    cut = text[: text.rindex("prompt_tokens:")] + "\n  : {broken"
    found = read(vcr, written(tmp_path, "cut.yaml", cut))
    assert [usage(call) for call in found.calls] == [(8, 0, 4012, 4)]
    assert found.skips[0][0] == 2
    assert found.skips[0][1].startswith("not valid YAML: line ")


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    levels = ["  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    bomb = "interactions:\n- request:\n    method: POST\n" + "x:\n" + "\n".join(levels) + "\n"
    found = read(vcr, written(tmp_path, "bomb.yaml", bomb))
    assert found.calls == []
    assert "values" in found.skips[0][1]


def test_python_tags_are_refused(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    text = f"interactions:\n- request: !!python/object/apply:pathlib.Path.touch [{marker}]\n"
    found = read(vcr, written(tmp_path, "tag.yaml", text))
    assert found.calls == []
    assert not marker.exists()
    assert len(found.skips) == 1


@pytest.mark.parametrize("text", ["interactions: []\nversion: 1\n", "interactions:\nversion: 1\n"])
def test_an_empty_cassette(text: str, tmp_path: Path) -> None:
    assert read(vcr, written(tmp_path, "empty.yaml", text)).ledgers[0].rows == 0


def test_rows_of_the_wrong_type(tmp_path: Path) -> None:
    text = "interactions:\n- request: 5\n- just text\n- request:\n    uri: 7\n    body: [1]\n  response: null\n"
    found = read(vcr, written(tmp_path, "odd.yaml", text))
    assert found.calls == []
    assert [row for row, _ in found.skips] == [1, 2]
    assert found.known == {"no model call": 1}


# What the providers reported in cassettes that are not shipped: (uncached, read, written, output) of each call.
MICRO_TRUTHS = {
    "test_anthropic__test_anthropic_cache_bedrock_real_api": [(3, 9511, 0, 1944), (3, 9511, 1956, 44)],
    "test_anthropic_mid_conversation_system__test_inline_system_prompt_cache_prefix_is_reused": [
        (2, 0, 1590, 4),
        (2, 1590, 0, 4),
    ],
    "test_anthropic__test_anthropic_cache_count_tokens": [(3, 1111, 0, 414)],
    "test_cache__test_bedrock_single_tool_choice_preserves_cache[anthropic]": [
        (433, 2752, 0, 16),
        (386, 2752, 0, 4),
        (433, 2752, 0, 16),
        (386, 2752, 0, 4),
    ],
    "test_bedrock__test_bedrock_cache_write_and_read": [(2, 0, 1322, 5), (2, 1322, 0, 5)],
    "test_prompt_caching__test_invoke_model_cache_tokens": [(4, 0, 18131, 50), (4, 18131, 0, 50)],
    "test_prompt_caching__test_anthropic_prompt_caching_stream_legacy": [(4, 0, 1165, 201), (4, 1165, 0, 221)],
    "test_cache__test_openrouter_cache_messages_anthropic_real_api": [(3, 0, 3211, 100), (3, 3211, 115, 53)],
    "test_openai_prompt_cache__test_openrouter_responses_prompt_cache_e2e": [(8, 0, 4012, 5), (8, 4012, None, 5)],
    "test_cohere__test_request_usage_with_cached_tokens": [(7, 2928, None, 4)],
}


@pytest.mark.parametrize("name", MICRO_TRUTHS)
def test_reported_usage_of_real_cassettes(name: str) -> None:
    found = [path for path in CORPUS.glob("vcr-cassette/*") if path.name.endswith(f"__{name}.yaml")]
    if not found:
        pytest.skip("the corpus of real logs is not there")
    calls = read(vcr, LogFile(found[0], found[0].name)).calls
    assert [usage(call) for call in calls] == MICRO_TRUTHS[name]
