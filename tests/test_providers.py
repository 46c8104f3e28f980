"""Who serves a call."""

import pytest

from hitledger.providers import provider_of


@pytest.mark.parametrize(
    ("model", "host", "expected"),
    [
        ("claude-sonnet-4-5", "", "anthropic"),
        ("claude-sonnet-4-5", "api.anthropic.com", "anthropic"),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", "", "bedrock"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", "bedrock"),
        ("claude-opus-4-5@20251101", "europe-west1-aiplatform.googleapis.com", "vertex"),
        ("anthropic/claude-sonnet-4.6", "openrouter.ai", "openrouter"),
        ("bedrock/us.anthropic.claude-sonnet-4-5", "", "bedrock"),
        ("gpt-5.4", "", "openai"),
        ("gpt-5.4", "harbour.openai.azure.com", "azure"),
        ("o3-mini", "", "openai"),
        ("openai/gpt-oss-120b", "", ""),
        ("gemini-2.5-pro", "", "google"),
        ("deepseek-reasoner", "api.deepseek.com", "deepseek"),
        ("deepseek-ai/DeepSeek-V3", "", ""),
        ("grok-4", "", "xai"),
        ("kimi-k2", "", "moonshot"),
        ("glm-4.6", "api.z.ai", "zai"),
        ("any", "anthropic", "anthropic"),
        ("local-gguf", "127.0.0.1", ""),
        ("local", "notanthropic.com", ""),
        ("", "", ""),
    ],
)
def test_provider(model: str, host: str, expected: str) -> None:
    assert provider_of(model, host) == expected
