"""One HTTP exchange with a model, however a capture spells it, as a Call.

The readers of captured traffic differ in where they find the two bodies and what stands beside them; what the bodies
mean is the same for all and lives here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from hitledger.logs.captured.answers import cost_of, created_at, status_of, text_of, usage_object
from hitledger.logs.captured.dialect import address_of, model_of
from hitledger.logs.captured.identity import agent_of, session_of
from hitledger.logs.captured.turns import opens_turn
from hitledger.logs.fields import text
from hitledger.parameters import parameters_of, route_of
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout, hidden
from hitledger.types import Call, EngineHint, Evidence, Kind, Place, Prompt, Tier, Usage, prompt_of
from hitledger.usage import read_usage, served_tier

# Fields that make the provider put text into the prompt that the body does not hold.
STORED_PROMPT = ("previous_response_id", "conversation", "prompt", "cachedContent")
# Claude Code sends its version and a hash of the request as the first system block. Anthropic's own API takes it out
# before it caches; any other server caches it like text, and it breaks every prefix there (vllm-project/vllm#36829).
BILLING_HEADER = "x-anthropic-billing-header:"
NO_BODY: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a capture holds of one call. Headers are those that `safe_headers` lets through."""

    request: Mapping[str, Any] | None  # None: not captured
    response: Mapping[str, Any] | None  # None: no answer, or not captured; streams folded
    url: str = ""
    status: int | None = None
    request_headers: Mapping[str, str] = field(default_factory=dict)
    response_headers: Mapping[str, str] = field(default_factory=dict)
    started_at: datetime | None = None
    first_token_at: datetime | None = None
    ended_at: datetime | None = None
    id: str = ""
    session: str = ""  # "": as the request says
    agent: str = ""  # "": as the request says
    parent_agent: str = ""
    purpose: str = ""
    model: str = ""  # "": as the request says
    upstream: str = ""  # who served behind a router
    account: str = ""
    usage: Mapping[str, Any] | None = None  # None: as the response says
    inclusive: bool | None = None  # whether the input figure holds the cached part, where the writer is known
    generated_ids: tuple[int, ...] = ()
    generated_text: str | None = None  # None: as the response says
    logged_cost: Decimal | None = None
    engine: EngineHint | None = None
    events: tuple[str, ...] = ()
    project: str = ""
    tier: str = ""  # "": as the response says
    notes: tuple[str, ...] = ()


def call_of(exchange: Exchange, place: Place, layout: Layout, api: Api | None) -> Call:
    """The call. `api` None: nothing of the prompt is known, only what the response says.

    The session is the exchange's, else the one its request names, else the file: a capture is one session then.
    """
    body = exchange.request or NO_BODY
    response = exchange.response or NO_BODY
    host, _ = address_of(exchange.url)
    model = exchange.model or model_of(body, exchange.url)
    served = text(response.get("model") or response.get("modelVersion"))
    provider = provider_of(model or served, host)
    usage, raw_usage, notes = _usage(exchange, response)
    agent, parent = agent_of(exchange.request_headers)
    evidence, prompt = _prompt(
        body, api, layout, provider == "anthropic" and (not host or host.endswith("anthropic.com"))
    )
    created = created_at(response)
    if exchange.started_at is None and created is not None:
        notes += ("start_estimated",)
    turn = ("user_turn",) if api and opens_turn(body, api) else ()
    return Call(
        id=exchange.id or text(response.get("id") or response.get("responseId")) or f"{place.file}:{place.row}",
        session=exchange.session or session_of(body, exchange.request_headers) or place.file,
        agent=exchange.agent or agent,
        place=place,
        provider=provider,
        model=model or served,
        evidence=evidence,
        prompt=prompt,
        api=str(api) if api else "",
        started_at=exchange.started_at or created,
        first_token_at=exchange.first_token_at,
        ended_at=exchange.ended_at,
        status=exchange.status or status_of(response),
        served_model=served,
        usage=usage,
        parameters=parameters_of(body, exchange.request_headers) if api else (),
        route=route_of(
            body,
            headers=exchange.response_headers,
            host=host,
            upstream=exchange.upstream or text(response.get("provider")),
            account=exchange.account,
        ),
        logged_cost=cost_of(raw_usage) if exchange.logged_cost is None else exchange.logged_cost,
        engine=exchange.engine,
        generated_text=text_of(response) if exchange.generated_text is None else exchange.generated_text,
        generated_ids=exchange.generated_ids,
        prompt_ids=_ids(body),
        events=exchange.events + turn,
        purpose=exchange.purpose,
        parent_agent=exchange.parent_agent or parent,
        project=exchange.project,
        tier=exchange.tier or served_tier(raw_usage, response),
        notes=exchange.notes + notes,
    )


def _usage(exchange: Exchange, response: Mapping[str, Any]) -> tuple[Usage | None, Mapping[str, Any], tuple[str, ...]]:
    raw = usage_object(response) if exchange.usage is None else exchange.usage
    status = exchange.status or status_of(response)
    if raw is None or status >= 400:
        missing = ("usage_missing",) if status < 400 else ()
        return None, NO_BODY, missing
    usage, notes = read_usage(raw, inclusive=exchange.inclusive)
    if usage is not None and _ran_server_tools(response):
        usage = replace(usage, read_accumulated=True)
    return usage, raw, notes


def _ran_server_tools(response: Mapping[str, Any]) -> bool:
    """Whether tools ran inside the call. The usage counts searches and fetches only, not code that was executed."""
    content = response.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "server_tool_use" for block in content
    )


def _prompt(
    body: Mapping[str, Any], api: Api | None, layout: Layout, strip_billing_header: bool
) -> tuple[Evidence, Prompt]:
    ids = _ids(body)
    if ids:
        return Evidence.EXACT, layout.token_ids(ids)
    if isinstance(plain := body.get("prompt"), str):  # text completion
        return Evidence.EXACT, prompt_of((layout.text(plain, Kind.TEXT, Tier.MESSAGES, "prompt", "user"),))
    if api is None:
        return Evidence.USAGE_ONLY, Prompt(())
    prompt = layout.prompt(body, api)
    if strip_billing_header:
        prompt = _without_billing_header(prompt)
    if any(body.get(name) for name in STORED_PROMPT):
        return Evidence.RECONSTRUCTED, prompt_of((hidden(label="stored by the provider"), *prompt.segments()))
    return Evidence.EXACT, prompt


def _without_billing_header(prompt: Prompt) -> Prompt:
    segments = prompt.segments()
    kept = tuple(
        segment
        for segment in segments
        if segment.tier is not Tier.SYSTEM or not (segment.text or "").startswith(BILLING_HEADER)
    )
    return prompt if len(kept) == len(segments) else prompt_of(kept)


def _ids(body: Mapping[str, Any]) -> tuple[int, ...]:
    """Token ids sent to an engine instead of text."""
    for name in ("prompt_token_ids", "prompt"):
        ids = body.get(name)
        if isinstance(ids, list) and ids and all(type(token) is int for token in ids):
            return tuple(ids)
    return ()
