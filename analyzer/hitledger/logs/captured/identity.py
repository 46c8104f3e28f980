"""Whose call it is, as far as a captured request says so: session, agent, parent agent; and headers safe to keep."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

# Only these headers are looked at: what authenticates (authorization, cookies, API keys) is never kept.
SAFE_HEADERS = frozenset(
    [
        *("anthropic-organization-id", "openai-organization", "openai-project", "x-account-id", "x-amzn-account-id"),
        *("x-grok-conv-id", "x-session-affinity", "x-worker-id", "x-replica-id", "x-served-by-worker"),
        *("anthropic-beta", "date", "request-id", "x-request-id", "x-amzn-requestid", "content-encoding"),
        *("session_id", "session-id", "x-session-id", "x-claude-code-session-id", "helicone-session-id"),
        *("x-parent-session-id", "x-claude-code-agent-id", "x-claude-code-parent-agent-id", "conversation_id"),
    ]
)
_SESSION_HEADERS = (
    *("x-claude-code-session-id", "session_id", "session-id", "x-session-id", "helicone-session-id"),
    "conversation_id",
)
SIDE = "side"
_SESSION_IN_USER_ID = re.compile(r"_session_([0-9a-f-]{36})$")


def safe_headers(headers: Any) -> dict[str, str]:
    """The headers we use, names in lower case, from a mapping or a list of {name, value}; first value of several."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(headers, Mapping):
        pairs = list(headers.items())
    elif isinstance(headers, list):
        pairs = [(item.get("name"), item.get("value")) for item in headers if isinstance(item, Mapping)]
    kept: dict[str, str] = {}
    for name, value in pairs:
        first = value[0] if isinstance(value, list) and value else value
        key = str(name).lower()
        if key in SAFE_HEADERS and isinstance(first, str) and first:
            kept.setdefault(key, first)
    return kept


def session_of(body: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """The session that a request names, "" where it names none.

    Claude Code writes it into `metadata.user_id`: `user_…_session_<uuid>` or, since 2.1, JSON with `session_id`.
    """
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping):
        named = metadata.get("session_id")
        if isinstance(named, str) and named:
            return named
        user = metadata.get("user_id")
        if isinstance(user, str) and (found := _session_in_user_id(user)):
            return found
    return next((headers[name] for name in _SESSION_HEADERS if headers.get(name)), "")


def side_agent(body: Mapping[str, Any]) -> str:
    """The agent of a request of Claude Code that its headers do not tell: "side" for one without tools, else "".

    Title, quota, topic and page-summary requests quote the conversation and carry no tools; as calls of the main agent
    they would look like breaks of it.
    """
    return "" if body.get("tools") else SIDE


def agent_of(headers: Mapping[str, str]) -> tuple[str, str]:
    """Agent and the agent that started it, "main" and "" where the request says nothing."""
    return headers.get("x-claude-code-agent-id", "main"), headers.get("x-claude-code-parent-agent-id", "")


def _session_in_user_id(user: str) -> str:
    if match := _SESSION_IN_USER_ID.search(user):
        return match[1]
    if not user.startswith("{"):
        return ""
    try:
        named = orjson.loads(user).get("session_id")
    except (orjson.JSONDecodeError, AttributeError):
        return ""
    return named if isinstance(named, str) else ""
