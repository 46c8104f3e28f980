"""Bodies as segments: order, paths, marks, one copy of each."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger.segments import Api, Layout, in_order
from hitledger.types import Kind, Segment, Tier

MESSAGES: dict[str, Any] = {
    "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "tools": [
        {"name": "t", "input_schema": {}, "cache_control": {"type": "ephemeral"}},
        {"name": "d", "defer_loading": True},
    ],
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "h", "signature": "s"},
                {"type": "tool_use", "id": "1", "name": "t", "input": {"b": 1, "a": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "1",
                    "content": [{"type": "text", "text": "r", "cache_control": {"type": "ephemeral"}}],
                }
            ],
        },
    ],
}
CHAT: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "f"}}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "x"}},
    "messages": [
        {"role": "system", "content": "S"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "u"},
                {"type": "image_url", "image_url": {"url": "data:" + "A" * 999}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "why",
            "tool_calls": [{"id": "1", "function": {"name": "f"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "r"},
        {"role": "system", "content": "late"},
    ],
}
RESPONSES: dict[str, Any] = {
    "instructions": "I",
    "text": {"format": {"type": "json_schema", "name": "x"}},
    "input": [
        {"role": "developer", "content": "D"},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "u", "prompt_cache_breakpoint": {"mode": "explicit"}}],
        },
        {"type": "reasoning", "encrypted_content": "e"},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "r"},
    ],
}
CONVERSE: dict[str, Any] = {
    "toolConfig": {"tools": [{"toolSpec": {"name": "t"}}, {"cachePoint": {"type": "default"}}]},
    "system": [{"text": "S"}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
    "messages": [{"role": "user", "content": [{"text": "u"}, {"toolResult": {"toolUseId": "1", "content": []}}]}],
}
GEMINI: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "S"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "u"}]},
        {"role": "model", "parts": [{"text": "t", "thought": True}, {"functionCall": {"name": "f"}}]},
    ],
}


def cut(body: dict[str, Any], api: Api) -> tuple[Segment, ...]:
    return Layout().prompt(body, api).segments()


def shape(body: dict[str, Any], api: Api) -> list[tuple[str, str, str | None]]:
    return [(segment.kind, segment.path, segment.mark) for segment in cut(body, api)]


def test_messages() -> None:
    assert shape(MESSAGES, Api.MESSAGES) == [
        ("tool", "tools[0]", "5m"),
        ("system", "system[0].text", "1h"),
        ("text", "messages[0].content", None),
        ("thinking", "messages[1].content[0]", None),
        ("tool_use", "messages[1].content[1]", None),
        ("tool_result", "messages[2].content[0]", None),
    ]
    tool, *_, call, result = cut(MESSAGES, Api.MESSAGES)
    assert tool.text == '{"name":"t","input_schema":{}}'
    assert call.text is not None
    assert '{"b":1,"a":2}' in call.text  # keys in the order sent
    assert result.text is not None
    assert "cache_control" not in result.text


def test_chat() -> None:
    assert shape(CHAT, Api.CHAT) == [
        ("tool", "tools[0]", None),
        ("schema", "response_format", None),
        ("system", "messages[0].content", None),
        ("text", "messages[1].content[0].text", None),
        ("image", "messages[1].content[1]", None),
        ("thinking", "messages[2].reasoning_content", None),
        ("tool_use", "messages[2].tool_calls[0]", None),
        ("tool_result", "messages[3]", None),
        ("text", "messages[4].content", None),
    ]
    tiers = [segment.tier for segment in cut(CHAT, Api.CHAT)]
    assert tiers == [Tier.TOOLS, Tier.SYSTEM, Tier.SYSTEM] + [Tier.MESSAGES] * 6


def test_responses() -> None:
    assert shape(RESPONSES, Api.RESPONSES) == [
        ("schema", "text.format", None),
        ("system", "instructions", None),
        ("system", "input[0].content", None),
        ("text", "input[1].content[0].text", "30m"),
        ("thinking", "input[2]", None),
        ("tool_use", "input[3]", None),
        ("tool_result", "input[4]", None),
    ]


def test_converse() -> None:
    assert shape(CONVERSE, Api.CONVERSE) == [
        ("tool", "toolConfig.tools[0]", "5m"),
        ("system", "system[0].text", "1h"),
        ("text", "messages[0].content[0].text", None),
        ("tool_result", "messages[0].content[1]", None),
    ]


def test_generate_content() -> None:
    assert shape(GEMINI, Api.GENERATE_CONTENT) == [
        ("system", "systemInstruction.parts[0].text", None),
        ("text", "contents[0].parts[0].text", None),
        ("thinking", "contents[1].parts[0].text", None),
        ("tool_use", "contents[1].parts[1]", None),
    ]


def test_automatic_caching_marks_the_last_block_that_can_be_marked() -> None:
    body = {"cache_control": {"type": "ephemeral"}, "messages": [{"role": "user", "content": "u"}]}
    assert shape(body, Api.MESSAGES) == [("text", "messages[0].content", "5m")]


def test_equal_blocks_are_one_object_and_marks_are_no_content() -> None:
    layout = Layout()
    first = layout.prompt(MESSAGES, Api.MESSAGES).segments()
    second = layout.prompt(MESSAGES, Api.MESSAGES).segments()
    assert all(a is b for a, b in zip(first, second, strict=True))
    unmarked = {**MESSAGES, "system": [{"type": "text", "text": "S"}]}
    other = layout.prompt(unmarked, Api.MESSAGES).segments()[1]
    assert other.digest == first[1].digest
    assert other.mark is None


def test_role_and_kind_are_content() -> None:
    layout = Layout()
    digests = {
        layout.text("x", kind, Tier.MESSAGES, "p", role).digest
        for kind, role in ((Kind.TEXT, "user"), (Kind.TEXT, "assistant"), (Kind.THINKING, "assistant"))
    }
    assert len(digests) == 3


def test_images_are_kept_as_a_digest() -> None:
    image = cut(CHAT, Api.CHAT)[4]
    assert image.text is not None
    assert len(image.text) < 200


def test_transcripts_keep_no_text() -> None:
    segment = Layout(keep_text=False).text("secret", Kind.TEXT, Tier.MESSAGES, "p", "user")
    assert segment.text is None
    assert segment.chars == 6


def test_another_order_of_tiers() -> None:
    order = (Tier.SYSTEM, Tier.TOOLS, Tier.MESSAGES)
    prompt = Layout().prompt(MESSAGES, Api.MESSAGES)
    assert [s.tier for s in in_order(prompt, order).segments()][:2] == [Tier.SYSTEM, Tier.TOOLS]
    assert in_order(prompt, tuple(Tier)) is prompt


def test_token_ids_share_segments() -> None:
    layout = Layout()
    first, second = layout.token_ids(range(40)).segments(), layout.token_ids([*range(32), 99]).segments()
    assert [segment.path for segment in first] == [f"prompt_token_ids[{start}]" for start in (0, 16, 32)]
    assert [a is b for a, b in zip(first, second, strict=True)] == [True, True, False]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
PARTS = ("tools", "system", "messages", "input", "instructions", "contents", "toolConfig", "response_format", "text")


@pytest.mark.parametrize("api", list(Api))
@given(st.dictionaries(st.sampled_from(PARTS), json_values))
def test_whatever_a_log_holds_is_laid_out(api: Api, body: dict[str, Any]) -> None:
    segments = cut(body, api)
    assert all(segment.chars == len(segment.text or "") for segment in segments)
