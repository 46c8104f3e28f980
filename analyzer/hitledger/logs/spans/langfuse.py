"""Langfuse observations as spans: a trace with its observations, or observations one by one.

Two things to know. `usageDetails` are disjoint parts (the ingestion takes cached tokens out of `input` and reasoning out
of `output`). And where a span came without figures, Langfuse fills them in by running a tokenizer over input and output:
such figures are no report of the provider and are left out here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.fields import dollars, first_text, mapping, text
from hitledger.logs.instants import after, instant
from hitledger.logs.spans.langfuse_input import body_of
from hitledger.logs.spans.messages import parsed
from hitledger.logs.spans.request import Request
from hitledger.logs.spans.span import Role, Span

FORMAT = "langfuse"
RECORD = "langfuse.observation"
ROLES = {"GENERATION": Role.CALL, "AGENT": Role.AGENT, "TOOL": Role.TOOL, "EMBEDDING": Role.EMBEDDING}
USAGE_ATTRIBUTES = ("gen_ai.usage.", "llm.token_count.", "llm.usage.", "ai.usage.", "langfuse.observation.usage")
SDK_SCOPE = "langfuse"


def is_trace(value: Mapping[str, Any]) -> bool:
    """A trace export: the trace beside its observations, or with them inside."""
    return isinstance(value.get("observations"), list) and ("trace" in value or "projectId" in value)


def is_observation(value: Any) -> bool:
    """One observation."""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        return False
    return ("traceId" in value and "startTime" in value) or ("trace_id" in value and "start_time" in value)


def spans(value: Mapping[str, Any]) -> Iterator[Span | str]:
    """The observations of a trace, or the one observation."""
    trace = mapping(value.get("trace")) or value
    for record in value["observations"] if is_trace(value) else (value,):
        yield _span(_camel(record), trace) if isinstance(record, Mapping) and record.get("id") else "no observation"


def _camel(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Exports to a bucket write `parent_observation_id`, all others `parentObservationId`."""
    if "traceId" in record:
        return record
    return {re.sub(r"_([a-z])", lambda match: match[1].upper(), str(name)): value for name, value in record.items()}


def _span(record: Mapping[str, Any], trace: Mapping[str, Any]) -> Span:
    scope = mapping(mapping(parsed(record.get("metadata"))).get("scope"))
    return Span(
        trace=text(record.get("traceId")) or text(trace.get("id")),
        id=str(record["id"]),
        parent=text(record.get("parentObservationId")),
        name=text(record.get("name")),
        attributes={RECORD: record},
        scope=text(scope.get("name")),
        resource={"session": trace.get("sessionId") or record.get("sessionId")},
        started_at=instant(record.get("startTime")),
        ended_at=instant(record.get("endTime")),
        failed=record.get("level") == "ERROR",
    )


def wrote(span: Span) -> bool:
    """Whether the span is an observation."""
    return RECORD in span.attributes


def role(span: Span) -> Role:
    """What the span is."""
    return ROLES.get(text(span.attributes[RECORD].get("type")).upper(), Role.OTHER)


def usage(span: Span) -> Mapping[str, Any]:
    """The figures: the provider's own where the output is its response, else `usageDetails` if they were sent."""
    record = span.attributes[RECORD]
    output = parsed(record.get("output"))
    for name in ("usage", "usage_metadata", "usageMetadata"):
        own = output.get(name) if isinstance(output, Mapping) else None
        if isinstance(own, Mapping) and own:
            return own
    if was_estimated(span):
        return {}
    details = record.get("usageDetails") or record.get("usage")
    return _disjoint(details) if isinstance(details, Mapping) else {}


def was_estimated(span: Span) -> bool:
    """Whether the figures are Langfuse's own count: the span came over OTel, and without any figure."""
    record = span.attributes[RECORD]
    if "providedUsageDetails" in record:
        return not record["providedUsageDetails"]
    attributes = mapping(mapping(parsed(record.get("metadata"))).get("attributes"))
    foreign = bool(span.scope) and not span.scope.startswith(SDK_SCOPE)
    return foreign and bool(attributes) and not any(name.startswith(USAGE_ATTRIBUTES) for name in attributes)


def _disjoint(details: Mapping[str, Any]) -> dict[str, Any]:
    """Parts beside `input` and `output` that no cache figure covers, added to them unless the total says otherwise."""
    found = {name: value for name, value in details.items() if isinstance(value, int) and not isinstance(value, bool)}
    given = found.get("input"), found.get("output"), found.get("total")
    if None in given or given[2] == (given[0] or 0) + (given[1] or 0):
        return found
    for part in ("input", "output"):
        for name in [name for name in found if name.startswith(f"{part}_") and "cach" not in name]:
            found[part] += found.pop(name)
    return found


def request(span: Span) -> Request:
    """The call in the observation."""
    record = span.attributes[RECORD]
    body, api, complete = body_of(record)
    details = mapping(record.get("usageDetails"))
    parts = any(name.startswith(("input_", "cache")) for name in details)
    output = parsed(record.get("output"))
    served = output.get("model") if isinstance(output, Mapping) else None
    notes = ("usage_estimated_by_langfuse",) if was_estimated(span) and not usage(span) else ()
    return Request(
        body=body,
        usage=usage(span),
        complete=complete,
        api=api,
        model=text(record.get("model")),
        served_model=text(served),
        provider=_provider(record),
        id=text(record.get("id")),
        session=text((span.resource or {}).get("session")),
        status=500 if span.failed else 200,
        first_token_at=instant(record.get("completionStartTime")) or after(span.started_at, _first_token_ms(record)),
        cost=dollars(record.get("totalCost")) if mapping(record.get("providedCostDetails")) else None,
        generated=_generated(output),
        inclusive=False if parts else None,
        notes=notes,
    )


def _first_token_ms(record: Mapping[str, Any]) -> Any:
    seconds = record.get("timeToFirstToken")
    return seconds * 1000 if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None


def _provider(record: Mapping[str, Any]) -> str:
    metadata = mapping(parsed(record.get("metadata")))
    names = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
    return first_text(metadata.get("ls_provider"), *(mapping(metadata.get("attributes")).get(name) for name in names))


def _generated(output: Any) -> str | None:
    if isinstance(output, str):
        return output
    content = output.get("content") if isinstance(output, Mapping) else None
    return content if isinstance(content, str) else None
