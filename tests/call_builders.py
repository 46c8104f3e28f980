"""Calls for tests, built as a reader builds them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hitledger.audit import AuditOptions, audit_calls
from hitledger.logs.ingest import Ingest
from hitledger.parameters import parameters_of, route_of
from hitledger.results import Audit
from hitledger.segments import Api, Layout
from hitledger.types import CacheWrite, Call, Evidence, Place, Usage

START = datetime(2026, 8, 4, 9, 0, tzinfo=UTC)


def usage(uncached: int, read: int | None = 0, written: int = 0, output: int | None = 10, ttl: str = "5m") -> Usage:
    """Usage with one lifetime."""
    return Usage(uncached, read, (CacheWrite(ttl, written),) if written else (), output)


def call(
    body: dict[str, Any],
    number: int = 0,
    *,
    api: Api = Api.MESSAGES,
    provider: str = "anthropic",
    at: float | None = None,
    used: Usage | None = None,
    layout: Layout | None = None,
    **fields: Any,
) -> Call:
    """A full-prompt call; `at` is seconds after START, one minute a number where it is not given."""
    seconds = 60.0 * number if at is None else at
    return Call(
        id=fields.pop("id", f"c{number}"),
        session=fields.pop("session", "s"),
        agent=fields.pop("agent", "main"),
        place=Place("test.jsonl", number + 1),
        provider=provider,
        model=str(body.get("model", "claude-opus-5")),
        evidence=Evidence.EXACT,
        prompt=(layout or Layout()).prompt(body, api),
        api=api,
        started_at=START + timedelta(seconds=seconds),
        usage=used,
        parameters=parameters_of(body),
        route=fields.pop("route", route_of(body)),
        **fields,
    )


def messages(
    *texts: str, system: str = "You are a clerk.", tools: tuple[str, ...] = (), **extra: Any
) -> dict[str, Any]:
    """A Messages body: texts alternate between user and assistant; the last one carries the mark."""
    turns: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[i % 2], "content": [{"type": "text", "text": text}]}
        for i, text in enumerate(texts)
    ]
    turns[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    body: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 64, "system": system, "messages": turns, **extra}
    if tools:
        body["tools"] = [{"name": name, "description": f"The tool {name}.", "input_schema": {}} for name in tools]
    return body


def audited(*calls: Call, **options: Any) -> Audit:
    """The audit of calls that nothing was read for."""
    return audit_calls(calls, Ingest(), AuditOptions(**options))
