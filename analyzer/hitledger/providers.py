"""Who serves a call: by the host it was sent to, else by the name of the model."""

import re
from functools import lru_cache

_HOSTS: tuple[tuple[str, str], ...] = (
    ("bedrock", "bedrock"),
    ("aiplatform", "vertex"),  # the region stands in front, with a hyphen
    ("generativelanguage.googleapis.com", "google"),
    ("cloudcode-pa.googleapis.com", "google"),
    ("openai.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("anthropic.com", "anthropic"),
    ("openrouter.ai", "openrouter"),
    ("api.openai.com", "openai"),
    ("chatgpt.com", "openai"),
    ("deepseek.com", "deepseek"),
    ("x.ai", "xai"),
    ("moonshot", "moonshot"),
    ("dashscope", "alibaba"),
    ("aliyuncs.com", "alibaba"),
    ("z.ai", "zai"),
    ("bigmodel.cn", "zai"),
    ("minimax", "minimax"),
    ("mistral.ai", "mistral"),
    ("groq.com", "groq"),
    ("fireworks.ai", "fireworks"),
    ("together", "together"),
    ("cohere", "cohere"),
)
_MODELS: tuple[tuple[str, str], ...] = (
    (r"^((us|eu|apac|global|jp|au)\.)?(anthropic|amazon|meta|mistral|cohere|deepseek|openai|qwen)\.", "bedrock"),
    (r"claude", "anthropic"),
    (r"^(openai/)?(gpt-oss)", ""),
    (r"^(openai/)?(gpt-|o[1345](-|$)|chatgpt-|codex-|computer-use)", "openai"),
    (r"^(google/|gemini/|models/)?gemini", "google"),
    (r"^(deepseek/)?deepseek-(chat|reasoner|v\d)", "deepseek"),
    (r"^(xai/|x-ai/)?grok", "xai"),
    (r"^(moonshotai?/)?(kimi|moonshot)", "moonshot"),
    (r"^(qwen-(max|plus|turbo|flash)|qwen3-(max|coder-plus|coder-flash)|qwq-plus)", "alibaba"),
    (r"^(z-?ai/|zai-org/)?glm-", "zai"),
    (r"^(minimax/)?minimax", "minimax"),
    (r"^(mistral|ministral|magistral|codestral|devstral|pixtral)", "mistral"),
    (r"^accounts/fireworks/", "fireworks"),
)
# Names that logs and SDKs give to providers, where a host or the first part of a model name is one of them.
_NAMED = {
    **{provider: provider for _, provider in _HOSTS},
    "amazon-bedrock": "bedrock",
    "azure_ai": "azure",
    "azure-openai": "azure",
    "gemini": "google",
    "vertex_ai": "vertex",
    "google-vertex": "vertex",
    "vertexai": "vertex",
    "moonshotai": "moonshot",
    "x-ai": "xai",
    "z-ai": "zai",
    "qwen": "alibaba",
    "fireworks-ai": "fireworks",
    "togetherai": "together",
    "claude": "anthropic",
    "az.ai.openai": "azure",
    "az.ai.inference": "azure",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "google.vertex": "vertex",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex.agent": "vertex",
    "gcp.vertex_ai": "vertex",
    "google_vertexai": "vertex",
    "google-gla": "google",
    "google_genai": "google",
    "x_ai": "xai",
    "mistral_ai": "mistral",
    "mistralai": "mistral",
    "dashscope": "alibaba",
    "fireworks_ai": "fireworks",
    "together_ai": "together",
}
_SDK_API = re.compile(r"\.(chat|completion|responses|messages|generative-ai)$")  # `openai.responses`: provider and API
_ROUTES = frozenset({"bedrock", "azure", "azure_ai", "vertex_ai", "groq", "openrouter"})  # LiteLLM's `provider/model`


def provider_of(model: str, host: str = "") -> str:
    """`host` may also be a provider's name. anthropic, openai, azure, bedrock, vertex, google, openrouter, …; "" unknown (a local server, a proxy)."""
    lowered = host.lower()
    if (named := _SDK_API.sub("", lowered)) in _NAMED:
        return _NAMED[named]
    for part, provider in _HOSTS:
        if lowered and (lowered == part or lowered.endswith(f".{part}") or ("." not in part and part in lowered)):
            return provider
    name = model.lower()
    route = name.partition("/")[0]
    if route in _ROUTES:
        return _NAMED[route]
    return _by_model(name)


@lru_cache(maxsize=64)
def _by_model(name: str) -> str:
    """Whose model it is; only the patterns up to the one that fits are compiled."""
    return next((provider for pattern, provider in _MODELS if re.search(pattern, name)), "")
