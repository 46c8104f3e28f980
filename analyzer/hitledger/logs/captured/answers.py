"""What a response body says beside its usage: text, status, served model, upstream, request id."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from hitledger.logs.captured.dialect import api_of_response
from hitledger.logs.fields import dollars, items
from hitledger.logs.instants import instant
from hitledger.segments import Api

# Anthropic's documented error types; others are told by their own code.
_STATUS_OF_ERROR = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
UNKNOWN_ERROR = 500


def status_of(body: Mapping[str, Any]) -> int:
    """The HTTP status that a body without one stands for: 200, or that of its error."""
    error = body.get("error")
    if not error or body.get("choices") or body.get("output"):
        return 200
    if not isinstance(error, Mapping):
        return UNKNOWN_ERROR
    for code in (error.get("code"), error.get("status"), error.get("status_code")):
        if isinstance(code, int) and 400 <= code < 600:
            return code
    return _STATUS_OF_ERROR.get(str(error.get("type")), UNKNOWN_ERROR)


def usage_object(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The usage object of a response. Cohere's keeps the counted tokens, beside the billed ones, in `tokens`."""
    for value in (body.get("usage"), body.get("usageMetadata")):
        if isinstance(value, Mapping):
            counted = value.get("tokens")
            return {**counted, "cached_tokens": value.get("cached_tokens")} if isinstance(counted, Mapping) else value
    return None


def cost_of(usage: Mapping[str, Any]) -> Decimal | None:
    """What a router says it billed (OpenRouter's `usage.cost`, in USD); with the customer's own key that is its fee."""
    return None if usage.get("is_byok") else dollars(usage.get("cost"))


def created_at(body: Mapping[str, Any]) -> datetime | None:
    """When the provider began the answer, in whole seconds: `created` of Chat, `created_at` of Responses."""
    return instant(body.get("created_at") or body.get("created"))


def text_of(body: Mapping[str, Any]) -> str | None:
    """The text the model wrote, without reasoning and tool calls; None where the body has no answer."""
    api = api_of_response(body)
    if api is None:
        return None
    return "".join(_texts(_blocks(body, api)))


def _blocks(body: Mapping[str, Any], api: Api) -> Iterable[Any]:
    if api is Api.MESSAGES:
        return items(body.get("content"))
    if api is Api.CHAT:
        choice = _first(body.get("choices"))
        content = _at(choice, "message", "content") or _at(choice, "text")
        return [content] if isinstance(content, str) else items(content)
    if api is Api.RESPONSES:
        return [block for item in items(body.get("output")) for block in items(_at(item, "content"))]
    if api is Api.CONVERSE:
        return items(_at(body, "output", "message", "content"))
    return items(_at(_first(body.get("candidates")), "content", "parts"))


def _texts(blocks: Iterable[Any]) -> Iterator[str]:
    for block in blocks:
        text = block if isinstance(block, str) else _at(block, "text")
        if isinstance(text, str) and not _at(block, "thought"):
            yield text


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None
