"""The fields outside the prompt that can decide what is cached, and who answers."""

from collections.abc import Mapping
from typing import Any

import orjson

from hitledger.types import Parameter

# name -> paths where the APIs have it; the first one present counts.
BODY_PATHS: dict[str, tuple[str, ...]] = {
    "cache_retention": ("prompt_cache_retention", "prompt_cache_options"),
    "context_management": ("context_management",),
    "effort": ("output_config.effort", "reasoning.effort", "reasoning_effort"),
    "parallel_tool_calls": ("parallel_tool_calls",),  # Anthropic's `disable_parallel_tool_use` is in `tool_choice`
    "response_format": ("response_format", "text.format", "output_config.format", "generationConfig.responseSchema"),
    "service_tier": ("service_tier",),
    "speed": ("speed",),
    "thinking": ("thinking", "enable_thinking", "chat_template_kwargs.enable_thinking", "reasoning.summary"),
    "tool_choice": ("tool_choice", "toolConfig.toolChoice"),
    "verbosity": ("text.verbosity", "verbosity"),
}
ROUTE_BODY_PATHS = {"prompt_cache_key": ("prompt_cache_key",)}
ROUTE_HEADERS: dict[str, tuple[str, ...]] = {
    "account": (
        "anthropic-organization-id",
        "openai-organization",
        "openai-project",
        "x-account-id",
        "x-amzn-account-id",
    ),
    "affinity": ("x-grok-conv-id", "x-session-affinity", "x-session-id"),
    "replica": ("x-worker-id", "x-replica-id", "x-served-by-worker"),
}
BETA_HEADER = "anthropic-beta"


def parameters_of(body: Mapping[str, Any], headers: Mapping[str, Any] | None = None) -> tuple[Parameter, ...]:
    """Cache-relevant request fields, sorted by name. `headers` are the request's."""
    found = [parameter for name, paths in BODY_PATHS.items() if (parameter := _first(body, name, paths))]
    lowered = {str(key).lower(): value for key, value in (headers or {}).items()}
    betas = body.get("betas") or body.get("anthropic_beta") or lowered.get(BETA_HEADER)
    if betas:
        names = betas.split(",") if isinstance(betas, str) else betas
        path = "betas" if body.get("betas") else "request_headers.anthropic-beta"
        found.append(Parameter("betas", path, canonical(sorted(str(name).strip() for name in names))))
    return tuple(sorted(found, key=lambda parameter: parameter.name))


def route_of(
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, Any] | None = None,
    host: str = "",
    upstream: str = "",
    account: str = "",
) -> tuple[Parameter, ...]:
    """Who answers: account, host, upstream of a router, routing key. `headers` are the response's."""
    found = [parameter for name, paths in ROUTE_BODY_PATHS.items() if (parameter := _first(body, name, paths))]
    lowered = {str(key).lower(): value for key, value in (headers or {}).items()}
    for name, keys in ROUTE_HEADERS.items():
        for key in keys:
            if lowered.get(key):
                found.append(Parameter(name, f"response_headers.{key}", canonical(lowered[key])))
                break
    given = (("host", "host", host), ("upstream", "response_provider", upstream), ("account", "account", account))
    found += [Parameter(name, path, canonical(value)) for name, path, value in given if value]
    return tuple(sorted(found, key=lambda parameter: parameter.name))


def canonical(value: Any) -> str:
    """JSON with sorted keys, so that equal values are equal strings."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()


def _first(body: Mapping[str, Any], name: str, paths: tuple[str, ...]) -> Parameter | None:
    for path in paths:
        value: Any = body
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            return Parameter(name, path, canonical(value))
    return None
