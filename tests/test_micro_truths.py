"""Recorded exchanges with whole requests and real usage: reads to the token, the rule's figure beside them, the cause."""

from pathlib import Path

import pytest

from hitledger.audit import audit
from hitledger.results import Audit

CASSETTES = Path(__file__).parent.parent.parent / "shared" / "corpus" / "vcr-cassette"
pytestmark = pytest.mark.skipif(not CASSETTES.is_dir(), reason="the recordings are not beside the project")

# Part of the name: (prompt, read, expected read) of each call of the recording that reads or writes.
READS: dict[str, list[tuple[int, int, int]]] = {
    "test_deepseek_deferred_capability_with_thinking": [(563, 512, 0), (875, 0, 0), (976, 896, 896)],
    "test_openai_chat_prompt_cache_e2e": [(4020, 0, 0), (4020, 4012, 4012)],
    "test_openai_responses_prompt_cache_e2e": [(4020, 0, 0), (4020, 4012, 4012)],
    "test_inline_system_prompt_cache_prefix_is_reused": [(1592, 0, 0), (1592, 1590, 1590)],
    "preserves_cache[anthropic]": [(3185, 2752, 0), (3138, 2752, 2752), (3185, 2752, 2752), (3138, 2752, 2752)],
    "test_openrouter_responses_prompt_cache_e2e": [(4020, 0, 0), (4020, 4012, 4012)],
    "test_openrouter_cache_messages_anthropic_real_api": [(3214, 0, 0), (3329, 3211, 3211)],
    "openllmetry__test_anthropic__test_prompt_cache.yaml": [(18135, 0, 0), (18135, 18131, 18131)],
}


def run(part: str) -> Audit:
    (file,) = [path for path in CASSETTES.iterdir() if part in path.name]
    return audit([str(file)])


@pytest.mark.parametrize("part", READS)
def test_reads_to_the_token_and_as_the_rule_says(part: str) -> None:
    found = [(call.input_tokens, call.cache_read_tokens, call.expected_cache_read_tokens) for call in run(part).calls]
    assert found == READS[part]


@pytest.mark.parametrize(
    ("part", "writes"),
    [
        ("test_openai_chat_prompt_cache_e2e", [4012, 0]),
        ("test_openai_responses_prompt_cache_e2e", [4012, 0]),
        ("test_inline_system_prompt_cache_prefix_is_reused", [1590, 0]),
        ("openllmetry__test_anthropic__test_prompt_cache.yaml", [18131, 0]),
    ],
)
def test_writes_to_the_token(part: str, writes: list[int]) -> None:
    assert [call.cache_write_tokens for call in run(part).calls] == writes


def test_the_cause_where_the_bodies_show_one() -> None:
    """DeepSeek 512 -> 0 -> 896: two tools came in between the first two calls. 563 leaves 8 units of 64."""
    found = run("test_deepseek_deferred_capability_with_thinking")
    ((index, cause, lost, rebilled, path),) = [
        (b.index, b.cause, b.lost_tokens, b.rebilled_tokens, b.path) for b in found.breaks
    ]
    assert (index, cause, lost, rebilled, path) == (1, "tools.set_changed", 512, 512, "tools[1]")


@pytest.mark.parametrize("part", [part for part in READS if "deepseek" not in part])
def test_the_others_have_no_break(part: str) -> None:
    assert run(part).breaks == ()
