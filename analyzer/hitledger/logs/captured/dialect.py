"""Which API a body speaks: by the address it was sent to, else by its shape; and which model it names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from hitledger.logs.fields import items, text
from hitledger.segments import Api

_ENDPOINTS: tuple[tuple[re.Pattern[str], Api], ...] = (
    (re.compile(r"/messages/?$"), Api.MESSAGES),
    (re.compile(r"/chat/completions/?$|/v2/chat/?$"), Api.CHAT),
    (re.compile(r"/responses(/compact)?/?$"), Api.RESPONSES),
    (re.compile(r"/converse(-stream)?$"), Api.CONVERSE),
    (re.compile(r":(stream)?generateContent$", re.IGNORECASE), Api.GENERATE_CONTENT),
)
# Addresses of the same hosts that take a prompt and run no model on it, or no prompt at all.
_NO_CALL = re.compile(
    r"/(count_tokens|embeddings|embed|moderations|files|batches|audio|images|rerank|cachedContents|input_tokens)(/|$)"
    r"|/models/?$|:(countTokens|embedContent|batchEmbedContents|predict)$"
)
_MODEL_IN_PATH = (
    re.compile(r"/model/([^/]+)/(?:invoke|converse)"),
    re.compile(r"/models/([^/:]+):"),
    re.compile(r"/deployments/([^/]+)/"),
)
LOOKED_AT = 20  # messages from which the API is told
_CHAT_ONLY = frozenset(
    {"frequency_penalty", "presence_penalty", "logprobs", "response_format", "reasoning_effort", "n", "stream_options"}
    | {"max_completion_tokens", "chat_template_kwargs", "functions", "seed"}
)
_CONVERSE_ONLY = frozenset({"inferenceConfig", "toolConfig", "additionalModelRequestFields", "guardrailConfig"})
_MESSAGES_ONLY = frozenset({"anthropic_version", "system", "stop_sequences", "anthropic_beta", "context_management"})
_MESSAGES_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"})


def api_of(body: Mapping[str, Any], url: str = "") -> Api | None:
    """The API of a request body, None where it is no model call that we can lay out."""
    _, path = address_of(url)
    if _NO_CALL.search(path):
        return None
    for pattern, api in _ENDPOINTS:
        if pattern.search(path):
            return api
    return api_of_shape(body)


def api_of_shape(body: Mapping[str, Any]) -> Api | None:
    """The API whose request looks like this body, None where it looks like none."""
    if isinstance(body.get("contents"), list):
        return Api.GENERATE_CONTENT
    messages = [message for message in items(body.get("messages"))[:LOOKED_AT] if isinstance(message, dict)]
    if not messages:
        return Api.RESPONSES if _asks_responses(body) else None
    if _CONVERSE_ONLY & body.keys() or _untyped_blocks(messages):
        return Api.CONVERSE
    if any(message.get("role") in ("tool", "function") or "tool_calls" in message for message in messages):
        return Api.CHAT
    types = {text(block.get("type")) for message in messages for block in _blocks(message)}
    tools = [tool for tool in items(body.get("tools")) if isinstance(tool, Mapping)]
    if _MESSAGES_ONLY & body.keys() or types & _MESSAGES_BLOCKS or any("input_schema" in tool for tool in tools):
        return Api.MESSAGES
    if _CHAT_ONLY & body.keys() or messages[0].get("role") in ("system", "developer") or tools:
        return Api.CHAT
    model = body.get("model")
    return Api.MESSAGES if isinstance(model, str) and model.startswith("claude") else Api.CHAT


def is_request(body: Any) -> bool:
    """Whether a value is a request body that names its model, or one of the APIs that name it in the address."""
    if not isinstance(body, Mapping) or is_response(body):
        return False
    if has_plain_prompt(body):
        return isinstance(body.get("model"), str)
    api = api_of_shape(body)
    if api in (Api.MESSAGES, Api.CHAT, Api.CONVERSE):
        named = all(isinstance(message, dict) and "role" in message for message in body["messages"][:LOOKED_AT])
        return named and (isinstance(body.get("model"), str) or api is Api.CONVERSE or "anthropic_version" in body)
    return api is not None


def has_plain_prompt(body: Mapping[str, Any], url: str = "") -> bool:
    """Whether a body prompts with text or token ids alone (text completions, engines), at an address that runs them."""
    ids = body.get("prompt_token_ids") or body.get("prompt")
    is_prompt = isinstance(ids, str) or (isinstance(ids, list) and bool(ids) and type(ids[0]) is int)
    return is_prompt and not _NO_CALL.search(address_of(url)[1])


def is_response(body: Any) -> bool:
    """Whether a value is a response body of one of the APIs."""
    return api_of_response(body) is not None


def api_of_response(body: Any) -> Api | None:
    """The API of a response body, None where it is none."""
    if not isinstance(body, Mapping):
        return None
    if body.get("type") == "message" and body.get("role") == "assistant" and isinstance(body.get("content"), list):
        return Api.MESSAGES
    if isinstance(body.get("choices"), list):
        return Api.CHAT
    if body.get("object") == "response" and isinstance(body.get("output"), list):
        return Api.RESPONSES
    if isinstance(body.get("candidates"), list) or {"usageMetadata", "modelVersion"} <= body.keys():
        return Api.GENERATE_CONTENT
    output = body.get("output")
    return Api.CONVERSE if isinstance(output, Mapping) and isinstance(output.get("message"), Mapping) else None


def model_of(body: Mapping[str, Any], url: str = "") -> str:
    """The model as requested: named in the body, else in the address; "" unknown."""
    named = body.get("model") or body.get("modelId")
    if isinstance(named, str) and named:
        return model_of_arn(named)
    _, path = address_of(url)
    for pattern in _MODEL_IN_PATH:
        if found := pattern.search(path):
            return model_of_arn(found[1])
    return ""


def address_of(url: str) -> tuple[str, str]:
    """Host and path of an address, "" where it has none or is none."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", unquote(parts.path)
    except ValueError:
        return "", ""


def model_of_arn(name: str) -> str:
    """The model id at the end of an AWS resource name, which also keeps the account number out of reports."""
    return name.rsplit("/", 1)[-1] if name.startswith("arn:") else name


def _asks_responses(body: Mapping[str, Any]) -> bool:
    model, given = body.get("model"), body.get("input")
    embeds = {"encoding_format", "dimensions", "input_type"} & body.keys()
    return isinstance(model, str) and isinstance(given, str | list) and not embeds and "embed" not in model


def _untyped_blocks(messages: Sequence[Mapping[str, Any]]) -> bool:
    blocks = [block for message in messages for block in _blocks(message)]
    return bool(blocks) and not any("type" in block for block in blocks)


def _blocks(message: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return (block for block in items(message.get("content")) if isinstance(block, dict))
