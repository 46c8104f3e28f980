"""The shapes in which exporters write spans: OTLP JSON, the JavaScript and Python SDKs, Phoenix, MLflow."""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.instants import instant
from hitledger.logs.spans import langfuse
from hitledger.logs.spans.span import Event, Span

MAX_DEPTH = 12  # of nested attribute values
RESOURCE_KEYS = ("resourceSpans", "resource_spans", "batches")
SCOPE_KEYS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
LIST_KEYS = ("spans", "data")
FAILED = {2, "2", "STATUS_CODE_ERROR", "ERROR"}

Found = Span | str  # a span, or why a record is none


def spans_of(value: Any) -> Iterator[Found]:
    """Every span record in one JSON value of a file, in order; a string where a record cannot be read."""
    if isinstance(value, list):
        for item in value:
            yield from spans_of(item) if isinstance(item, Mapping) else ["a record is no object"]
    elif not isinstance(value, Mapping):
        yield "a record is no object"
    elif resources := _first(value, RESOURCE_KEYS):
        yield from _otlp(resources)
    elif is_span(value):
        yield _span(value, {}, "")
    elif langfuse.is_trace(value) or langfuse.is_observation(value):
        yield from langfuse.spans(value)
    elif isinstance(value.get("info"), Mapping) and isinstance(value.get("data"), Mapping):
        yield from _listed(value["data"].get("spans"), _mlflow_resource(value["info"]))
    elif any(isinstance(value.get(key), list) for key in LIST_KEYS):
        yield from _listed(_first(value, LIST_KEYS), {})
    elif value and all(isinstance(item, list) for item in value.values()):  # spans by operation
        for item in value.values():
            yield from _listed(item, {})
    elif any(key in value for key in RESOURCE_KEYS):
        return  # an export without spans
    else:
        yield "no span"


def is_span(value: Any) -> bool:
    """Whether an object is a span record by itself."""
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        return False
    identified = isinstance(value.get("spanContext") or value.get("context"), Mapping) or any(
        isinstance(value.get(key), str) for key in ("spanId", "span_id", "traceId", "context.span_id")
    )
    return identified and ("attributes" in value or any(str(key).startswith("attributes.") for key in value))


def holds_spans(value: Any) -> bool:
    """Whether a value, maybe cut, is one that `spans_of` was made for."""
    if isinstance(value, list):
        return bool(value) and holds_spans(value[0])
    if not isinstance(value, Mapping):
        return False
    if any(isinstance(value.get(key), list) for key in RESOURCE_KEYS) or is_span(value) or langfuse.is_trace(value):
        return True
    data = value.get("data")
    lists = [
        value.get("spans"),
        data,
        data.get("spans") if isinstance(data, Mapping) else None,
        *list(value.values())[:1],
    ]
    firsts = [value, *(item[0] for item in lists if isinstance(item, list) and item)]
    return any(is_span(first) or langfuse.is_observation(first) for first in firsts)


def _first(value: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if isinstance(value.get(key), list)), None)


def _listed(records: Any, resource: Mapping[str, Any]) -> Iterator[Found]:
    for record in records if isinstance(records, list) else ():
        if langfuse.is_observation(record):
            yield from langfuse.spans(record)
            continue
        yield _span(record, resource, "") if is_span(record) else "no span"


def _otlp(resources: list[Any]) -> Iterator[Found]:
    for group in resources:
        if not isinstance(group, Mapping):
            yield "resource spans are no object"
            continue
        resource = group.get("resource")
        attributes = key_values(resource.get("attributes")) if isinstance(resource, Mapping) else {}
        for scoped in _first(group, SCOPE_KEYS) or ():
            if not isinstance(scoped, Mapping) or not isinstance(scoped.get("spans") or [], list):
                yield "scope spans are no object"
                continue
            scope = scoped.get("scope") or scoped.get("instrumentationLibrary")
            name = scope.get("name") if isinstance(scope, Mapping) else ""
            for record in scoped.get("spans") or ():
                readable = isinstance(record, Mapping) and (record.get("spanId") or record.get("span_id"))
                yield _span(record, attributes, str(name or "")) if readable else "no span"


def _span(record: Mapping[str, Any], resource: Mapping[str, Any], scope: str) -> Span:
    context = record.get("spanContext") or record.get("context")
    context = context if isinstance(context, Mapping) else {}
    own_scope = record.get("instrumentationScope") or record.get("instrumentationLibrary") or record.get("scope")
    status = record.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else record.get("status_code")
    return Span(
        trace=_id(record, context, "traceId", "trace_id"),
        id=_id(record, context, "spanId", "span_id") or str(record.get("id") or ""),
        parent=_parent(record),
        name=str(record.get("name") or ""),
        attributes=_attributes(record),
        scope=scope or str((own_scope.get("name") if isinstance(own_scope, Mapping) else "") or ""),
        resource=resource or _resource(record),
        started_at=_time(record, "startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time"),
        ended_at=_time(record, "endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time"),
        events=tuple(_events(record.get("events"))),
        failed=isinstance(code, int | str) and code in FAILED,
    )


def _id(record: Mapping[str, Any], context: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = record.get(name) or context.get(name) or record.get(f"context.{name}")
        if isinstance(value, str) and value:
            return value.removeprefix("0x")
    return ""


def _parent(record: Mapping[str, Any]) -> str:
    context = record.get("parentSpanContext")
    value = context.get("spanId") if isinstance(context, Mapping) else None
    for name in ("parentSpanId", "parent_span_id", "parentId", "parent_id"):
        value = value or record.get(name)
    return value.removeprefix("0x") if isinstance(value, str) else ""


def _time(record: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        value = record.get(name)
        if isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value):
            return instant(value[0] + value[1] / 1e9)  # [seconds, nanoseconds]
        if value not in (None, "", 0, "0"):
            return instant(value)
    return None


def _resource(record: Mapping[str, Any]) -> Mapping[str, Any]:
    resource = record.get("resource")
    attributes = resource.get("attributes") if isinstance(resource, Mapping) else None
    return attributes if isinstance(attributes, Mapping) else {}


def _mlflow_resource(info: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = info.get("trace_metadata") or info.get("request_metadata")
    return (
        {**metadata, "trace": info.get("trace_id") or info.get("request_id")} if isinstance(metadata, Mapping) else {}
    )


def _attributes(record: Mapping[str, Any]) -> Mapping[str, Any]:
    given = record.get("attributes")
    if isinstance(given, list):
        return key_values(given)
    flat = {str(key)[11:]: value for key, value in record.items() if str(key).startswith("attributes.")}
    return flatten(given) | flat if isinstance(given, Mapping) else flat


def flatten(nested: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested attributes (Phoenix) under dotted names; lists of objects get their index as a name."""
    found: dict[str, Any] = {}
    for key, value in nested.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and depth < MAX_DEPTH:
            found |= flatten(value, f"{name}.", depth + 1)
        elif (
            isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value) and depth < MAX_DEPTH
        ):
            found |= flatten({str(index): item for index, item in enumerate(value)}, f"{name}.", depth + 1)
        else:
            found[name] = value
    return found


def key_values(pairs: Any) -> dict[str, Any]:
    """OTLP attributes `[{key, value: {stringValue}}]` as a mapping."""
    return {
        str(pair["key"]): _any_value(pair.get("value"), 0)
        for pair in (pairs if isinstance(pairs, list) else ())
        if isinstance(pair, Mapping) and "key" in pair
    }


def _any_value(value: Any, depth: int) -> Any:
    if not isinstance(value, Mapping) or depth > MAX_DEPTH:
        return value
    for kind, inner in value.items():
        name = kind.replace("_", "").lower()
        if name == "intvalue":
            return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdecimal() and len(inner) < 20 else inner
        if name == "arrayvalue":
            items = inner.get("values") if isinstance(inner, Mapping) else None
            return [_any_value(item, depth + 1) for item in (items if isinstance(items, list) else ())]
        if name == "kvlistvalue":
            pairs = inner.get("values") if isinstance(inner, Mapping) else None
            return {
                str(pair.get("key")): _any_value(pair.get("value"), depth + 1)
                for pair in (pairs if isinstance(pairs, list) else ())
                if isinstance(pair, Mapping)
            }
        return inner
    return None


def _events(events: Any) -> Iterator[Event]:
    for event in events if isinstance(events, list) else ():
        if isinstance(event, Mapping):
            at = _time(event, "timeUnixNano", "time_unix_nano", "time", "timestamp")
            yield Event(str(event.get("name") or ""), at, _attributes(event))
